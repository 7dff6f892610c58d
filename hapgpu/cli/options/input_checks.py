"""Check of an input by its first bytes, and of the index through which it is read.

It takes milliseconds, and comes before devices are looked for and before anything is compiled: it
imports neither NumPy nor Numba. What needs the whole file is left to its reader, and so are pipes,
from which nothing can be read twice.
"""

from __future__ import annotations

import os
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hapgpu.cli.options.file_kinds import Expected
from hapgpu.errors import InputError
from hapgpu.io.bgzf.marks import has_closing_bytes, is_bgzf, missing_eof_block
from hapgpu.io.files.beside import BAM_INDEXES, CRAM_INDEXES, VCF_INDEXES, index_beside
from hapgpu.io.files.file_kind import FileHead, closing_bytes, read_head
from hapgpu.io.files.reread import not_by_region
from hapgpu.io.files.sam_head import lists_no_contig, sort_order

_INDEXED_FASTA: Final = frozenset({"FASTA"})
_INDEX_SUFFIXES: Final = {"BAM": BAM_INDEXES, "CRAM": CRAM_INDEXES, "VCF": VCF_INDEXES}
_INDEX_KINDS: Final = {
    "BAM": Expected("BAI or CSI", frozenset({"BAI", "CSI"})),
    # A line of .crai looks like BED, or like nothing if it is of reads without a contig.
    "CRAM": Expected("CRAI", frozenset({"BED", "CSI"}), takes_empty=True, takes_text=True),
    "FASTA": Expected(".fai", frozenset({".fai"})),
    "VCF": Expected("TBI or CSI", frozenset({"TBI", "CSI"})),
}
"""Kinds of indexes by the kind of the file; files of other kinds are read from start to end."""


def check_input(path: str, expected: Expected | None, *, by_index: bool) -> None:
    """Refuse an input that is missing, cannot be read, or is of another kind than expected.

    Parameters
    ----------
    path
        The file.
    expected
        The kinds that it may have; None for any.
    by_index
        Whether it is read through an index, if it is of a kind that has one.

    Raises
    ------
    InputError
        The message says which. Or the file has no index, one of another kind, or is not complete.
        Or a reference that is read by region is a pipe.
    """
    if not _is_regular(path):
        if by_index and expected is not None and expected.kinds == _INDEXED_FASTA:
            raise not_by_region(path)  # but aligned reads may be read from start to end
        return
    head = _head(path)
    if expected is not None and (fault := expected.fault(head)):
        raise InputError(f"{path}: {fault}; give {expected.words}")
    _check_end(path, head)
    if by_index:
        _check_index(path, head)


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """The index of hapgpu beside a FASTA file.

    Attributes
    ----------
    path
        The file, which may not exist.
    expected
        Its kind.
    command
        Builds it anew.
    """

    path: Path
    expected: Expected
    command: str

    def check(self) -> None:
        """Refuse a file that is no such index.

        Raises
        ------
        InputError
            The message has the command.
        """
        if self.path.is_file():
            _check_index_kind(self.path, self.expected, f"run: {self.command}")


def _is_regular(path: str) -> bool:
    """Tell whether a file is on disk, not a pipe."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  (raises what it finds)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: is a directory; give a file")
    return stat.S_ISREG(mode)


def _head(path: str) -> FileHead:
    try:
        return read_head(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    except zlib.error as error:
        raise InputError(f"{path}: damaged compressed file ({error}); copy it again") from error


def _unreadable(path: str, error: OSError | ValueError) -> InputError:
    return InputError(f"{path}: cannot be read ({getattr(error, 'strerror', '') or error})")


def _check_end(path: str, head: FileHead) -> None:
    """Refuse a file without the closing bytes of its format."""
    if closing := closing_bytes(head.packed):
        with Path(path).open("rb") as file:
            if not has_closing_bytes(file, closing):
                raise missing_eof_block(path)


def _check_index(path: str, head: FileHead) -> None:
    """Refuse a file that has no index, or one of another kind."""
    if head.kind == "FASTA":
        _check_fasta_index(path, head)
    elif head.kind in _INDEX_SUFFIXES:
        if head.kind == "VCF" and not is_bgzf(head.packed):
            if not head.is_plain_gzip:
                return  # a run makes an indexed copy of text
            raise InputError(f"{path}: not compressed by bgzip; {_compress_vcf(path, head)}")
        index = index_beside(Path(path), _INDEX_SUFFIXES[head.kind])
        if index is None:
            raise InputError(f"{path}: {_why_no_index(path, head)}")
        remedy = (
            f"run: tabix -f -p vcf {path}" if head.kind == "VCF" else f"run: samtools index {path}"
        )
        _check_index_kind(index, _INDEX_KINDS[head.kind], remedy)


def _why_no_index(path: str, head: FileHead) -> str:
    """Return what a file without an index lacks, and the remedy: samtools indexes sorted reads."""
    if head.kind == "BAM" and lists_no_contig(head.text):
        return "reads are not aligned (no @SQ line); align them to the reference"
    if head.kind == "BAM" and (order := sort_order(head.text)) in {"queryname", "unsorted"}:
        return f"not sorted by position (SO:{order}); run: samtools sort -o SORTED.bam {path}"
    if head.kind == "VCF":
        return f"no index; run: tabix -p vcf {path}"
    return f"no index; run: samtools index {path}"


def _compress_vcf(path: str, head: FileHead) -> str:
    """Return the commands that compress and index a VCF."""
    packed = f"{path.removesuffix('.gz')}.gz" if not head.is_plain_gzip else f"{path}.bgz"
    return f"run: bcftools view -Oz -o {packed} {path}, then: tabix -p vcf {packed}"


def _check_fasta_index(path: str, head: FileHead) -> None:
    if head.is_plain_gzip:
        raise InputError(f"{path}: compressed by gzip, but is read by region; run: gunzip {path}")
    index, remedy = Path(f"{path}.fai"), f"run: samtools faidx {path}"
    if not index.is_file():
        raise InputError(f"{path}: no index {index}; {remedy}")
    _check_index_kind(index, _INDEX_KINDS["FASTA"], remedy)


def _check_index_kind(index: Path, expected: Expected, remedy: str) -> None:
    if fault := expected.fault(_head(str(index))):
        raise InputError(f"{index}: {fault}, expected {expected.words}; {remedy}")
