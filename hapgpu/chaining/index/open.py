"""The minimizer index of a reference, loaded or built."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from hapgpu.chaining.index.build import build_index, build_index_of_records, read_reference
from hapgpu.chaining.index.files import MINIMIZER_FILE, default_index_path, index_command
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import SketchOptions
from hapgpu.errors import InputError
from hapgpu.io.genome.fasta import FastaRecords
from hapgpu.runtime.progress import NoProgress, Progress

_NO_PROGRESS: Final = NoProgress()
logger = logging.getLogger(__name__)


def open_index(
    reference: Path, sketch: SketchOptions, threads: int, progress: Progress = _NO_PROGRESS
) -> MinimizerIndex:
    """Load the index of a reference, or build it if there is none beside the FASTA file.

    Parameters
    ----------
    reference
        FASTA, plain or gzip-compressed, or an index, whose own minimizers are used.
    sketch
        Options of the minimizers; ignored, with a warning, for an index.
    threads
        Number of threads that build the index, if there is none.
    progress
        Receives the phases of building; started and finished by the caller.

    Raises
    ------
    InputError
        A file cannot be read, or the index is damaged or was built from another FASTA file.
    """
    if MINIMIZER_FILE.is_index(reference):
        return _load_named(reference, sketch)
    if not reference.exists():
        raise InputError(f"{reference}: no such file")
    return MINIMIZER_FILE.load_or_build(
        reference,
        default_index_path(reference, sketch),
        index_command(reference, sketch),
        lambda: build_index(reference, sketch, threads, progress),
    )


def open_index_with_bases(
    reference: Path, sketch: SketchOptions, threads: int, progress: Progress = _NO_PROGRESS
) -> tuple[MinimizerIndex, FastaRecords]:
    """Load or build the index of a FASTA file as `open_index` does; return the sequences, too.

    Raises
    ------
    InputError
        As in `open_index`; or the reference is an index, which has no bases.
    """
    if MINIMIZER_FILE.is_index(reference):
        raise InputError(
            f"{reference}: an index has no bases to align to; give the FASTA file that it was built"
            " from, beside which the index is found"
        )
    if not reference.exists():
        raise InputError(f"{reference}: no such file")
    built: list[FastaRecords] = []

    def build() -> MinimizerIndex:
        index, records = build_index_of_records(reference, sketch, threads, progress)
        built.append(records)
        return index

    path, command = default_index_path(reference, sketch), index_command(reference, sketch)
    index = MINIMIZER_FILE.load_or_build(reference, path, command, build)
    return index, built[0] if built else read_reference(reference)


def _load_named(path: Path, sketch: SketchOptions) -> MinimizerIndex:
    """Load an index given in place of the FASTA file; warn if its options are not `sketch`."""
    index = MINIMIZER_FILE.load(path)
    if index.sketch != sketch:
        logger.warning(
            "%s: built with %s; ignoring %s", path, _options(index.sketch), _options(sketch)
        )
    return index


def _options(sketch: SketchOptions) -> str:
    return f"-k {sketch.k} -w {sketch.w}{' -H' if sketch.is_hpc else ''}"
