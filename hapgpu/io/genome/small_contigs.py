"""Bases of small contigs of a reference: thousands of contigs in one read of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.genome.fai import FastaIndex

_MAX_BYTES: Final = 1 << 16
"""Bytes of a small contig, with its header line."""
_WINDOW: Final = 1 << 24
"""Bytes between the first bases of contigs that are read together."""
_MAX_LINE_END: Final = 2
_NEWLINE, _RETURN, _GREATER = b"\n\r>"
_DESCRIPTION: Final = re.compile(rb"[ \t\r][^\n]*")
_PRINTS: Final = np.isin(np.arange(256), np.arange(ord("!"), ord("~") + 1))

_Numbers = NDArray[np.int64]


class _Contigs(NamedTuple):
    """Offsets of n contigs in the inflated file, int64[n] each.

    Attributes
    ----------
    headers
        Where the header line starts: after the line end of the contig before.
    starts, ends
        Of the bases, half-open.
    next_headers
        Where the header line of the next contig starts.
    first_lines, last_lines
        Ends of the first line, and of the last line that another one follows, with their line ends;
        without such lines, `next_headers`.
    line_ends
        Bytes of a line end.
    bases
        Of the wanted bases.
    """

    headers: _Numbers
    starts: _Numbers
    ends: _Numbers
    next_headers: _Numbers
    first_lines: _Numbers
    last_lines: _Numbers
    line_ends: _Numbers
    bases: _Numbers

    def in_window(self, rows: NDArray[np.intp], start: int) -> _Contigs:
        """Return some contigs, with offsets from `start`."""
        moved = _Contigs(*(column[rows] - start for column in self))
        return moved._replace(line_ends=self.line_ends[rows])


def small_contig_bases(
    index: FastaIndex, read: Callable[[int, int], bytes], names: Sequence[str], positions: _Numbers
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Return a base of each contig that is small and that is where the index says.

    Parameters
    ----------
    index
        The index.
    read
        Returns bytes of the inflated file, by offset and number: fewer at its end.
    names
        n contigs of the index.
    positions
        int64[n]: positions of the bases.

    Returns
    -------
    uint8[n], bool[n]
        The bases, and which were found. `FastaIndexCheck` accepts each contig that was found, but
        may accept others too, such as the last of a file.
    """
    contigs, is_small = _contigs_of(index, names, positions)
    bases, found = np.zeros(len(names), dtype=np.uint8), np.zeros(len(names), dtype=np.bool_)
    chosen = np.flatnonzero(is_small)
    chosen = chosen[np.argsort(contigs.starts[chosen], kind="stable")]
    windows = contigs.starts[chosen] // _WINDOW
    for rows in np.split(chosen, np.flatnonzero(np.diff(windows)) + 1) if chosen.size else ():
        start, end = contigs.headers[rows].min() - 1, contigs.next_headers[rows].max() + 1
        # What comes before the first header is like a line end.
        text = b"\n" * int(start < 0) + read(max(start, 0), end - max(start, 0))
        if len(text) < end - start:
            continue
        data, own = np.frombuffer(text, dtype=np.uint8), contigs.in_window(rows, start)
        bases[rows] = data[own.bases]
        found[rows] = _are_sound(data, own) & _PRINTS[bases[rows]]
        if not _have_names(data, own, [names[row] for row in rows.tolist()]):
            found[rows] = False
    return bases, found


def _contigs_of(
    index: FastaIndex, names: Sequence[str], positions: _Numbers
) -> tuple[_Contigs, NDArray[np.bool_]]:
    """Return contigs, and which are small; offsets of others may be wrong."""
    rows = index.rows(names)
    lengths, starts, line_bases, widths = index.columns[:, rows]
    line_ends = widths - line_bases
    headers = np.where(rows > 0, _next_headers(index.columns[:, rows - 1]), 0)
    next_headers = _next_headers(index.columns[:, rows])
    whole_lines = np.maximum(lengths - 1, 0) // np.maximum(line_bases, 1)
    lines, columns = np.divmod(positions, np.maximum(line_bases, 1))
    contigs = _Contigs(
        headers,
        starts,
        next_headers - line_ends,
        next_headers,
        np.where(whole_lines > 0, starts + widths, next_headers),
        np.where(whole_lines > 0, starts + whole_lines * widths, next_headers),
        line_ends,
        starts + lines * widths + columns,
    )
    is_small = (np.maximum(lengths, widths) <= _MAX_BYTES) & (next_headers - headers <= _MAX_BYTES)
    is_small &= (headers >= 0) & (headers < starts) & (positions < lengths)
    is_small &= (line_ends > 0) & (line_ends <= _MAX_LINE_END) & (rows + 1 < len(index))
    return contigs, is_small


def _next_headers(columns: _Numbers) -> _Numbers:
    """Return where the line ends after the bases of entries end."""
    lengths, starts, line_bases, widths = columns
    whole_lines = np.maximum(lengths - 1, 0) // np.maximum(line_bases, 1)
    found: _Numbers = starts + lengths + (whole_lines + 1) * (widths - line_bases)
    return found


def _are_sound(data: NDArray[np.uint8], contigs: _Contigs) -> NDArray[np.bool_]:
    """Return bool[n]: whether headers and lines start and end where they should."""
    sound = np.ones(contigs.starts.size, dtype=np.bool_)
    sound &= (data[contigs.headers] == _GREATER) & (data[contigs.next_headers] == _GREATER)
    sound &= (data[contigs.headers - 1] == _NEWLINE) & (data[contigs.starts - 1] == _NEWLINE)
    for ends in (contigs.first_lines, contigs.last_lines, contigs.next_headers):
        breaks = data[ends - contigs.line_ends]
        sound &= (data[ends - 1] == _NEWLINE) & ((breaks == _NEWLINE) | (breaks == _RETURN))
        sound &= _PRINTS[data[ends - contigs.line_ends - 1]]
    return sound


def _have_names(data: NDArray[np.uint8], contigs: _Contigs, names: Sequence[str]) -> bool:
    """Tell whether each contig has one header line, with its name."""
    sizes = contigs.starts - contigs.headers
    ends = np.cumsum(sizes)
    headers = data[np.repeat(contigs.headers - ends + sizes, sizes) + np.arange(ends[-1])]
    has_end = data[contigs.starts - 1] == _NEWLINE
    if not has_end.all() or np.count_nonzero(headers == _NEWLINE) != len(names):
        return False
    expected = "".join(f">{name}\n" for name in names).encode("utf-8", "surrogateescape")
    return _DESCRIPTION.sub(b"", headers.tobytes()) == expected
