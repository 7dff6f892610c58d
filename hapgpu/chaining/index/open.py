"""The minimizer index of a reference: the one that was kept, or one for this run."""

from __future__ import annotations

import logging
from pathlib import Path

from hapgpu.chaining.index.build import build_index
from hapgpu.chaining.index.files import (
    check_index_belongs,
    default_index_path,
    index_command,
    is_index,
    load_index,
)
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import SketchOptions
from hapgpu.errors import InputError
from hapgpu.io.files.reread import is_pipe

logger = logging.getLogger(__name__)


def open_index(reference: Path, sketch: SketchOptions, threads: int) -> MinimizerIndex:
    """Load the index of a reference, or build it where none lies beside the FASTA file.

    Parameters
    ----------
    reference
        FASTA, plain or gzip-compressed, or an index, whose own minimizers hold.
    sketch
        The minimizers that are asked for.
    threads
        To build the index with, if it has to be.

    Raises
    ------
    InputError
        A file cannot be read, or the index is damaged or was made of another FASTA file.
    """
    if is_index(reference):
        return _load_named(reference, sketch)
    if not reference.exists():
        raise InputError(f"{reference}: no such file")
    kept = default_index_path(reference, sketch)
    if not kept.exists():
        command = index_command(reference, sketch)
        remedy = "" if is_pipe(str(reference)) else f": '{command}' keeps it"
        logger.warning("building the index of %s, for this run only%s", reference, remedy)
        return build_index(reference, sketch, threads)
    index = load_index(kept)
    check_index_belongs(index, kept, reference)
    return index


def _load_named(path: Path, sketch: SketchOptions) -> MinimizerIndex:
    """Load an index that was given itself, and say so if it is not what was asked for."""
    index = load_index(path)
    if index.sketch != sketch:
        logger.warning(
            "%s was made with %s, which hold, not %s", path, _said(index.sketch), _said(sketch)
        )
    return index


def _said(sketch: SketchOptions) -> str:
    return f"-k {sketch.k} -w {sketch.w}{' -H' if sketch.is_hpc else ''}"
