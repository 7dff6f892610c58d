"""Files of minimizer indexes."""

from __future__ import annotations

import re
from operator import index as whole
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.build import MOST_BASES
from hapgpu.chaining.grouping import LAST_KEY
from hapgpu.chaining.index_data import MinimizerIndex
from hapgpu.chaining.options import LONGEST_KMER, WIDEST_WINDOW, SketchOptions
from hapgpu.io.array_file import ArrayFormat, Arrays, Header
from hapgpu.io.fasta_digest import check_digest

SUFFIX: Final = ".hgm"
MAGIC: Final = b"\x89HGM\r\n\x1a\n"  # as of PNG: no text, and broken by a change of line ends
VERSION: Final = 1

_MOST_DIRECTORY_BITS: Final = 32
_DEFAULT_NAME = re.compile(
    r"(?P<fasta>.+)\.k(?P<k>\d{1,2})w(?P<w>\d{1,3})(?P<hpc>H?)\.hgm", re.DOTALL
)


def default_index_path(fasta: str | Path, sketch: SketchOptions) -> Path:
    """Return where the index of a FASTA file lies: beside it, the minimizers in its name."""
    return Path(f"{fasta}.k{sketch.k}w{sketch.w}{'H' * sketch.is_hpc}{SUFFIX}")


def index_command(fasta: str | Path, sketch: SketchOptions, target: Path | None = None) -> str:
    """Return the command that makes an index, by default at its default place."""
    plain = SketchOptions()
    return "".join(
        [
            "hapgpu index --minimizers",
            f" -k {sketch.k}" if sketch.k != plain.k else "",
            f" -w {sketch.w}" if sketch.w != plain.w else "",
            " -H" if sketch.is_hpc else "",
            f" {fasta}",
            f" -o {target}" if target and target != default_index_path(fasta, sketch) else "",
        ]
    )


def save_index(index: MinimizerIndex, path: str | Path) -> None:
    """Write an index, whole or not at all.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    _FORMAT.save(path, _header_of(index), _arrays_of(index))


def load_index(path: str | Path) -> MinimizerIndex:
    """Map an index into memory, read-only, and verify every byte of its arrays.

    Raises
    ------
    InputError
        The file is missing, is no index, is of another version, cut short or damaged.
    """
    return _FORMAT.load(path, _index_of, _is_consistent)


def is_index(path: Path) -> bool:
    """Tell whether a file is a minimizer index, damaged or not."""
    return path.is_file() and _FORMAT.is_format_of(path)  # nothing is taken out of a pipe


def check_index_belongs(index: MinimizerIndex, index_path: Path, fasta: Path) -> None:
    """Make sure that an index was made of a FASTA file as it is now.

    Raises
    ------
    InputError
        It was not, or the FASTA file cannot be read.
    """
    made_of = index.fasta_bytes, index.fasta_sha256
    check_digest(fasta, made_of, index_path, index_command(fasta, index.sketch, index_path))


def _arrays_of(index: MinimizerIndex) -> Arrays:
    return {
        "lengths": index.lengths,
        "directory": index.directory,
        "entries": index.entries,
        "hits": index.hits,
    }


def _header_of(index: MinimizerIndex) -> Header:
    """Return what `_index_of` reads."""
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
        names=tuple(header["names"]),
        lengths=arrays["lengths"],
        sketch=SketchOptions(whole(header["k"]), whole(header["w"]), bool(header["hpc"])),
        directory=arrays["directory"],
        directory_bits=whole(header["directory_bits"]),
        entries=arrays["entries"],
        hits=arrays["hits"],
        fasta_bytes=header["fasta_bytes"],
        fasta_sha256=bytes.fromhex(header["fasta_sha256"]),
    )


def _is_consistent(index: MinimizerIndex) -> bool:
    """Tell whether no look-up leaves an array or finds what is no sequence."""
    lengths, directory, entries, bits = (
        index.lengths, index.directory, index.entries, index.directory_bits
    )  # fmt: skip
    if not (1 <= index.sketch.k <= LONGEST_KMER and 1 <= index.sketch.w <= WIDEST_WINDOW):
        return False
    if lengths.size != len(index.names) or ((lengths < 0) | (lengths > MOST_BASES)).any():
        return False
    if not 1 <= bits <= _MOST_DIRECTORY_BITS or directory.size != 2**bits + 1:
        return False
    return (
        entries.size >= 2
        and entries.size % 2 == 0
        and int(entries[-2]) == LAST_KEY
        and _rises(directory, entries.size // 2 - 1)
        and _rises(entries[1::2], index.hits.size)
        and int(index.hits.max(initial=0)) >> 32 < lengths.size
    )


def _rises(places: NDArray[np.unsignedinteger], last: int) -> bool:
    """Tell whether places never fall, from 0 on up to the last."""
    return places[0] == 0 and int(places[-1]) == last and bool((places[:-1] <= places[1:]).all())


def _remedy(path: Path) -> str:
    """Return the command that makes an index anew."""
    named = _DEFAULT_NAME.fullmatch(str(path))
    if named and Path(named["fasta"]).is_file():
        sketch = SketchOptions(int(named["k"]), int(named["w"]), bool(named["hpc"]))
        return index_command(named["fasta"], sketch)
    may_be_replaced = path.suffix == SUFFIX or not path.exists()  # not a file given by mistake
    return "hapgpu index --minimizers REF.fa" + (f" -o {path}" if may_be_replaced else "")


_FORMAT: Final = ArrayFormat(
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
)
