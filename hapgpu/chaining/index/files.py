"""Files of minimizer indexes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np

from hapgpu.chaining.index.checks import is_sound
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import SketchOptions
from hapgpu.io.array_files.array_file import ArrayFormat, Arrays
from hapgpu.io.array_files.header import Header, bytes_of, flag_of, names_of, whole_of
from hapgpu.io.array_files.index_file import IndexFile, rebuild_command

SUFFIX: Final = ".hgm"
MAGIC: Final = b"\x89HGM\r\n\x1a\n"  # as for PNG: not text, and damaged by converted line ends
VERSION: Final = 1

_DEFAULT_NAME = re.compile(
    r"(?P<fasta>.+)\.k(?P<k>\d{1,2})w(?P<w>\d{1,3})(?P<hpc>H?)\.hgm", re.DOTALL
)


def default_index_path(fasta: str | Path, sketch: SketchOptions) -> Path:
    """Return the default path of the index of a FASTA file: beside it, with k, w and H."""
    return Path(f"{fasta}.k{sketch.k}w{sketch.w}{'H' * sketch.is_hpc}{SUFFIX}")


def index_command(fasta: str | Path, sketch: SketchOptions) -> str:
    """Return the command that builds the index of a FASTA file at its default path."""
    plain = SketchOptions()
    return "".join(
        [
            "hapgpu index --minimizers",
            f" -k {sketch.k}" if sketch.k != plain.k else "",
            f" -w {sketch.w}" if sketch.w != plain.w else "",
            " -H" if sketch.is_hpc else "",
            f" {fasta}",
        ]
    )


def _arrays_of(index: MinimizerIndex) -> Arrays:
    return {
        "lengths": index.lengths,
        "directory": index.directory,
        "entries": index.entries,
        "hits": index.occurrences,
    }


def _header_of(index: MinimizerIndex) -> Header:
    """Return the header that `_index_of` reads."""
    return {
        "names": index.names,
        "k": index.sketch.k,
        "w": index.sketch.w,
        "hpc": index.sketch.is_hpc,
        "directory_bits": index.directory_bits,
        "fasta_bytes": index.fasta_bytes,
        "fasta_sha256": index.fasta_sha256.hex(),
    }


def _index_of(header: Header, arrays: Arrays) -> MinimizerIndex:
    return MinimizerIndex(
        names=names_of(header, "names"),
        lengths=arrays["lengths"],
        sketch=SketchOptions(
            k=whole_of(header, "k"), w=whole_of(header, "w"), is_hpc=flag_of(header, "hpc")
        ),
        directory=arrays["directory"],
        directory_bits=whole_of(header, "directory_bits"),
        entries=arrays["entries"],
        occurrences=arrays["hits"],
        fasta_bytes=whole_of(header, "fasta_bytes"),
        fasta_sha256=bytes_of(header, "fasta_sha256"),
    )


def _remedy(path: Path) -> str:
    """Return the command that builds an index again."""
    named = _DEFAULT_NAME.fullmatch(str(path))
    if named and Path(named["fasta"]).is_file():
        sketch = SketchOptions(k=int(named["k"]), w=int(named["w"]), is_hpc=bool(named["hpc"]))
        return index_command(named["fasta"], sketch)
    return rebuild_command(path, SUFFIX, "hapgpu index --minimizers REF.fa")


MINIMIZER_FILE: Final = IndexFile(
    ArrayFormat(
        what="minimizer index of hapgpu",
        magic=MAGIC,
        version=VERSION,
        dtypes={
            "lengths": np.int64,
            "directory": np.uint32,
            "entries": np.uint64,
            "hits": np.uint64,
        },
        remedy=_remedy,
    ),
    header_of=_header_of,
    arrays_of=_arrays_of,
    index_of=_index_of,
    is_sound=is_sound,
)
"""Files of minimizer indexes."""
