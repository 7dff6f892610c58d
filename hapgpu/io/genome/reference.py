"""Reference: FASTA read by region, through its index."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Final
from weakref import finalize

import numpy as np
import pysam
from isal import igzip
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.bgzf.inflater import INFLATE_ERROR
from hapgpu.io.bgzf.marks import is_bgzf
from hapgpu.io.files.htslib import silent_htslib
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.files.reread import is_pipe, not_by_region
from hapgpu.io.genome.fai import MAX_OFFSET, FastaEntry, read_fai
from hapgpu.io.genome.regions import Region, contig_hint
from hapgpu.io.genome.small_contigs import small_contig_bases
from hapgpu.runtime.closeable import Closeable

_PIECE_BYTES: Final = 1 << 16
"""Bytes per read: an index must not determine the memory used."""
_LINE_BYTES: Final = 256
"""Bytes of the first read of a piece: most header lines are shorter."""
_MAX_BLOCK_BYTES: Final = 1 << 16
_GZIP: Final = b"\x1f\x8b"
_BGZF_HEAD_BYTES: Final = 18
_DAMAGED: Final = (OSError, EOFError, INFLATE_ERROR)
_NO_BASES: Final = bytes({*range(256)} - {*range(ord("!"), ord("~") + 1)})
"""What htslib skips: line ends, and all else that does not print."""


class ReferenceFasta(Closeable):
    """Reference with an index (`samtools faidx`), open for random access.

    Parameters
    ----------
    path
        FASTA, plain or BGZF-compressed, with its `.fai` (and `.gzi`) beside it.

    Raises
    ------
    InputError
        The file or its index is missing, or cannot be read, or the index is malformed.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        _check_files(self.path)
        self._entries = read_fai(self.path)
        self._checked: set[str] = set()
        try:
            self._text = _open_text(self.path)
        except InputError:  # a ValueError, which has the message already
            raise
        except (OSError, ValueError) as error:
            raise InputError(
                f"{path}: not an indexed FASTA, plain or compressed by bgzip ({error}); run:"
                f" samtools faidx {path}"
            ) from error
        self._index_check = FastaIndexCheck(self.path, self._text)
        self.lengths: Mapping[str, int] = self._entries.lengths

    def contig_length(self, region: Region) -> int:
        """Return the length of the contig of a region, which must be within it.

        Raises
        ------
        InputError
            The contig is unknown, or the region ends after its contig.
        """
        length = self.lengths.get(region.contig)
        if length is None:
            hint = contig_hint(region.contig, self.lengths)
            raise InputError(f"{self.path}: no contig '{region.contig}'{hint}")
        if region.end > length:
            raise InputError(f"{self.path}: {region} ends after the {length:,} bases of its contig")
        return length

    def fetch(self, region: Region) -> bytes:
        """Return the bases of a region as they are in the file, case and N kept.

        Raises
        ------
        InputError
            The contig is unknown, the region ends after its contig, the index does not match the
            file, or the file is damaged.
        """
        self.contig_length(region)
        self._check(region.contig)
        entry = self._entries[region.contig]
        start, end = entry.offset_of(region.start), entry.offset_of(region.end - 1) + 1
        bases = self._read(start, end - start).translate(None, _NO_BASES)
        if len(bases) != region.end - region.start:
            raise InputError(
                f"{self.path}: {region} cannot be read (file damaged, or does not match its index);"
                f" run: samtools faidx {self.path}"
            )
        return bases

    def bases_at(self, contigs: Sequence[str], positions: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return uint8[n]: a base of each of n contigs of the reference, as `fetch` does.

        Small contigs are read together: a plant assembly may have a million.

        Parameters
        ----------
        contigs
            n names of contigs.
        positions
            int64[n]: position of the base.

        Raises
        ------
        InputError
            As `fetch`.
        """
        bases, found = small_contig_bases(self._entries, self._read, contigs, positions)
        for row in np.flatnonzero(~found).tolist():
            start = int(positions[row])
            bases[row] = self.fetch(Region(contigs[row], start, start + 1))[0]
        return bases

    def _read(self, offset: int, size: int) -> bytes:
        """Read bytes of the inflated file; none if they are damaged."""
        try:
            return self._text.read(offset, size)
        except _DAMAGED:
            return b""

    def _check(self, contig: str) -> None:
        """Check the index of a contig, once: a wrong index gives wrong bases."""
        if contig not in self._checked:
            self._index_check(contig, self._entries[contig])
            self._checked.add(contig)

    def close(self) -> None:
        """Close the file."""
        self._text.close()


def _check_files(path: Path) -> None:
    """Raise an error for files that htslib cannot read, or not within bounded memory."""
    if is_pipe(str(path)):
        raise not_by_region(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    index, blocks = Path(f"{path}.fai"), Path(f"{path}.gzi")
    if not index.is_file():
        raise InputError(f"{path}: no index {index}; run: samtools faidx {path}")
    for file in (index, blocks):
        if file.is_file() and file.stat().st_size > MAX_RECORD:
            raise InputError(f"{file}: too large for an index; run: samtools faidx {path}")


class _InflatedText:
    """Inflated bytes of a file, by their offsets.

    Parameters
    ----------
    file
        The file, open.
    blocks
        The blocks of `_blocks_of`, if the file is compressed by bgzip.

    Attributes
    ----------
    close
        Closes the file; called at the latest when this object is deleted.
    """

    def __init__(self, file: BinaryIO, blocks: tuple[list[int], list[int]] | None) -> None:
        self._file = file
        self._lock = Lock()  # of the position in the file: threads share a reference
        self.close = finalize(self, file.close)  # not every user closes a reference
        self._blocks = blocks

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes, less only at the end of the file.

        Raises
        ------
        OSError, EOFError, INFLATE_ERROR
            The file is damaged, or the offset is not in it.
        """
        with self._lock:
            if self._blocks is None:
                self._file.seek(offset)
                return self._file.read(size)
            return self._read_blocks(*self._blocks, offset, size)

    def _read_blocks(self, starts: list[int], offsets: list[int], offset: int, size: int) -> bytes:
        block = bisect_right(starts, offset) - 1
        before = offset - starts[block]
        if before > _MAX_BLOCK_BYTES and block + 1 < len(starts):
            raise EOFError
        self._file.seek(offsets[block])
        with igzip.IGzipFile(fileobj=self._file) as inflated:
            while before > 0 and (skipped := len(inflated.read(min(before, _PIECE_BYTES)))):
                before -= skipped
            return b"" if before else bytes(inflated.read(size))


def _open_text(fasta: Path) -> _InflatedText:
    """Open a FASTA file, plain or compressed by bgzip.

    Raises
    ------
    OSError, ValueError
        The file cannot be read, or is compressed otherwise.
    InputError
        Its `.gzi` is damaged.
    """
    index = Path(f"{fasta}.gzi")
    with ExitStack() as stack:
        file = stack.enter_context(fasta.open("rb"))
        head = file.read(_BGZF_HEAD_BYTES)
        is_compressed = head.startswith(_GZIP)
        if is_compressed and not is_bgzf(head):
            raise ValueError("compressed by gzip")
        if is_compressed and not index.is_file():
            # htslib makes the .gzi. It never treats an absolute name as a URL.
            with silent_htslib():
                pysam.FastaFile(str(fasta.absolute())).close()
        text = _InflatedText(file, _blocks_of(index) if is_compressed else None)
        stack.pop_all()
    return text


class FastaIndexCheck:
    """Check that sequences of a FASTA file start and end where its index says.

    Parameters
    ----------
    fasta
        The file, for messages.
    text
        Its inflated bytes.
    """

    def __init__(self, fasta: Path, text: _InflatedText) -> None:
        self._fasta = fasta
        self._read = text.read

    def __call__(self, name: str, entry: FastaEntry) -> None:
        """Make sure that a sequence is where its entry says.

        Checks the name before it, the ends of its first and last lines, and that no base follows.

        Raises
        ------
        InputError
            The sequence is not there.
        """
        try:
            matches = self._matches(name.encode("utf-8", "surrogateescape"), entry)
        except _DAMAGED:
            matches = False
        if not matches:
            raise InputError(
                f"{self._fasta}.fai: does not match {self._fasta} at contig {name}; run: samtools"
                f" faidx {self._fasta}"
            )

    def _matches(self, name: bytes, entry: FastaEntry) -> bool:
        if not self._has_name(name, entry.offset):
            return False
        if entry.length == 0:
            return self._is_last(entry.offset)
        last = entry.offset_of(entry.length - 1)
        end = self._read(last, 2)
        is_end = end[:1].strip() and not end[1:].strip()
        return bool(is_end) and self._is_last(last + 1) and self._has_lines(entry)

    def _has_name(self, name: bytes, offset: int) -> bool:
        """Tell whether a header line with this name ends before an offset."""
        if offset == 0 or self._read(offset - 1, 1) != b"\n":
            return False
        start = self._line_start(offset - 1)
        line = self._read(start, min(len(name) + 2, offset - start))
        return line[1:].split(maxsplit=1)[:1] == [name]

    def _line_start(self, end: int) -> int:
        """Return the start of the line that ends at `end`."""
        size = _LINE_BYTES
        while end > 0:
            start, size = max(end - size, 0), _PIECE_BYTES
            found = self._read(start, end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def _is_last(self, offset: int) -> bool:
        """Tell whether only white space is between an offset and the next header, or the end."""
        size = _LINE_BYTES
        while piece := self._read(offset, size):
            if following := piece.lstrip():
                return following[:1] == b">"
            offset, size = offset + len(piece), _PIECE_BYTES
        return True

    def _has_lines(self, entry: FastaEntry) -> bool:
        """Tell whether the first line and the second to last line end where the entry says."""
        whole_lines = (entry.length - 1) // entry.line_bases
        return all(
            self._ends_line(entry, entry.offset + line * entry.line_width)
            for line in {1, whole_lines}
            if whole_lines
        )

    def _ends_line(self, entry: FastaEntry, end: int) -> bool:
        """Tell whether a line ends at `end`, with a line end of the size in the entry."""
        line_end = entry.line_width - entry.line_bases
        text = self._read(end - line_end - 1, min(1 + line_end, _PIECE_BYTES))
        is_end = text[:1].strip() and not text[1:].strip()
        return bool(is_end) and self._read(end - 1, 1) == b"\n"


def _blocks_of(index: Path) -> tuple[list[int], list[int]]:
    """Return the offsets of blocks in the inflated file, and in the file."""
    try:
        numbers = np.fromfile(index, dtype="<u8")
    except OSError as error:
        raise InputError(f"{index}: cannot be read ({error.strerror or error})") from error
    rows = numbers[1:].reshape(-1, 2) if numbers.size % 2 else numbers[:0].reshape(-1, 2)
    is_sorted = (rows < MAX_OFFSET).all() and (rows[1:] >= rows[:-1]).all()
    if numbers.size != 2 * int(numbers[:1].sum()) + 1 or not is_sorted:
        raise InputError(f"{index}: damaged; run: bgzip -r {index.with_suffix('')}")
    offsets, starts = numbers[1::2].tolist(), numbers[2::2].tolist()
    return [0, *starts], [0, *offsets]
