"""Regions of a reference: samtools notation and BED files."""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from itertools import chain, takewhile
from pathlib import Path
from typing import Final

from hapgpu.arrays.sequences import listed
from hapgpu.errors import InputError, UsageError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.io.text.values import LAST_POSITION, excerpt, parse_position

END_OF_CONTIG: Final = LAST_POSITION
"""End of a region up to the end of a contig of unknown length: the limit of BAM."""

_RANGE = re.compile(r"(?P<start>[0-9][0-9,]*)?(?:-(?P<end>[0-9][0-9,]*)?)?")
BED_COMMENTS: Final = ("#", "track", "browser")
"""Starts of lines of BED without an interval."""


@dataclass(frozen=True, slots=True, order=True)
class Region:
    """Bases `start` to `end` of a contig, 0-based, half-open.

    Attributes
    ----------
    contig
        Name of the contig.
    start, end
        0 <= start < end.
    """

    contig: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.contig}:{self.start + 1}-{self.end}"

    def overlaps(self, other: Region) -> bool:
        """Tell whether the two regions have a base in common."""
        return self.contig == other.contig and self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class RegionChoice:
    """Choice of the user: everything, or all that overlaps the given regions.

    With both `regions` and `targets`, a read or a site has to overlap a region of each, as for
    samtools.

    Attributes
    ----------
    regions
        Regions, or texts for `parse_region`, of which any counts; None for everything.
    targets
        Further regions, of which any counts; None for everything.
    """

    regions: tuple[Region | str, ...] | None
    targets: tuple[Region, ...] | None = None

    @property
    def is_everything(self) -> bool:
        """Whether no regions were given."""
        return self.regions is None and self.targets is None

    def or_else(self, loci: Sequence[Region]) -> RegionChoice:
        """Return this choice, or the loci if it is everything; without loci, everything."""
        return RegionChoice(tuple(loci)) if self.is_everything and loci else self

    def sets(self, contigs: Container[str]) -> list[list[Region]]:
        """Return the sets of regions, of each of which a region has to be overlapped.

        Parameters
        ----------
        contigs
            Names of the contigs of the file that the regions select from.

        Returns
        -------
        list of list of Region
            Up to two sets, which may be empty; none for everything.

        Raises
        ------
        UsageError
            A text is not a region, or has two meanings.
        """
        sets = []
        if self.regions is not None:
            texts = self.regions
            sets.append([parse_region(r, contigs) if isinstance(r, str) else r for r in texts])
        if self.targets is not None:
            sets.append(list(self.targets))
        return sets

    def possible_sets(self) -> list[list[Region]]:
        """Return `sets` without knowledge of the contigs: with all meanings of each text.

        Raises
        ------
        UsageError
            A text is not a region, whatever the contigs are.
        """
        meanings = (_meanings(r) if isinstance(r, str) else [r] for r in self.regions or ())
        sets = [] if self.regions is None else [list(chain.from_iterable(meanings))]
        return sets if self.targets is None else [*sets, list(self.targets)]


EVERYTHING: Final = RegionChoice(None)


def choice_of(texts: Sequence[str] | None) -> RegionChoice:
    """Return the choice of a caller in Python: texts for `parse_region`, or None for everything.

    Raises
    ------
    UsageError
        It is no list of text.
    """
    if texts is None:
        return EVERYTHING
    for number, text in enumerate(listed(texts, "region")):
        if not isinstance(text, str):
            raise UsageError(f"region {number}: of type {type(text).__name__}; give str")
    return RegionChoice(tuple(texts))


def parse_region(text: str, contigs: Container[str] = ()) -> Region:
    """Parse a region as samtools does: `chr`, `chr:100`, `chr:100-200`, `chr:1,000-2,000`.

    Positions are 1-based, both included. `chr:100` and `chr:100-` run to the end of the contig,
    `chr:-200` from its start; an open region ends at `END_OF_CONTIG`. A contig of exactly this name
    is meant as a whole. In braces, any name is a contig: `{HLA-A*01:01}:5-90`.

    Parameters
    ----------
    text
        The region as the user wrote it.
    contigs
        Names of the known contigs. The contig of the region need not be one of them.

    Raises
    ------
    UsageError
        The text is not a region, or has two meanings: its name is a contig, and so is the name
        before the colon.
    """
    contig, interval = _split(text, contigs)
    if not contig:
        raise UsageError(f"region '{text}': malformed; write contig:start-end")
    start, end = (0, None) if interval is None else _parse_range(interval, text)
    return Region(contig, start, END_OF_CONTIG if end is None else end)


def _split(text: str, contigs: Container[str]) -> tuple[str, str | None]:
    """Split a region into its contig and the text after the colon (None for a whole contig)."""
    if text.startswith("{"):
        contig, brace, rest = text[1:].partition("}")
        if not brace or not contig or (rest and not rest.startswith(":")):
            raise UsageError(f"region '{text}': malformed; write {{contig}}:start-end")
        return contig, rest[1:] if rest else None
    contig, colon, interval = text.rpartition(":")
    if not colon or text in contigs:
        if colon and contig in contigs and _is_range(interval):
            raise UsageError(
                f"region '{text}': ambiguous, contigs '{contig}' and '{text}' exist; write"
                f" {{{contig}}}:{interval} or {{{text}}}"
            )
        return text, None
    return (contig, interval) if _is_range(interval) or contig in contigs else (text, None)


def _meanings(text: str) -> Iterator[Region]:
    """Yield the regions that a text is with some contigs or others."""
    yield parse_region(text, {text})
    with suppress(UsageError):
        yield parse_region(text)


def contig_hint(contig: str, known: Iterable[str]) -> str:
    """Return "; found 'chr20' instead" if a name is unknown only because of the chr prefix."""
    other = contig.removeprefix("chr") if contig.startswith("chr") else f"chr{contig}"
    return f"; found '{other}' instead" if other in set(known) else ""


def _is_range(text: str) -> bool:
    match = _RANGE.fullmatch(text)
    return match is not None and (match["start"] is not None or match["end"] is not None)


def _parse_range(interval: str, text: str) -> tuple[int, int | None]:
    """Return the 0-based start and the end; None for the end of the contig."""
    match = _RANGE.fullmatch(interval)
    if match is None or not _is_range(interval):
        raise UsageError(f"region '{text}': malformed; write contig:start-end")
    start = _position(match["start"], text) if match["start"] else 1
    end = _position(match["end"], text) if match["end"] else None
    if start == 0 or end == 0:
        raise UsageError(f"region '{text}': positions start at 1; correct it")
    if end is not None and end < start:
        raise UsageError(f"region '{text}': its end is before its start; swap them")
    return start - 1, end


def _position(digits: str, text: str) -> int:
    position = parse_position(digits.replace(",", ""))
    if position is None:
        raise UsageError(
            f"region '{excerpt(text)}': a position is greater than {LAST_POSITION:,}; correct it"
        )
    return position


def read_bed(path: str | Path, max_record: int = MAX_RECORD) -> list[Region]:
    """Read the intervals of a BED file, plain or gzip-compressed, each once, in file order.

    Parameters
    ----------
    path
        A file, or `-` for standard input.
    max_record
        Bytes of the longest file that is read: it is kept in memory as a whole.

    Raises
    ------
    InputError
        The file cannot be read or is too long, or a line is not a BED interval; the message
        names the line.
    """
    regions: dict[Region, None] = {}  # each once, to save memory if they repeat
    for number, line in numbered_lines(path, max_record):
        if line.strip() and not line.startswith(BED_COMMENTS):
            regions[parse_bed_line(line, f"{path}, line {number}")] = None
    return list(regions)


def numbered_lines(path: str | Path, max_record: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of BED, plain or gzip-compressed, with their numbers.

    Raises
    ------
    InputError
        The file cannot be read, is no text, or has more than `max_record` bytes.
    """
    size = 0
    with open_inflated(path, str(path)) as stream:
        text = TextIOWrapper(stream, "utf-8")
        try:
            for number, line in enumerate(iter(partial(text.readline, max_record + 1), ""), 1):
                size += len(line)
                if size > max_record:
                    raise too_long(str(path), max_record)
                yield number, line
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not BED ({error}); give BED") from error
        finally:
            text.detach()


def parse_bed_line(line: str, label: str) -> Region:
    """Parse a line of BED that is neither empty nor a comment; `label` names it for errors.

    Raises
    ------
    InputError
        It is not a BED interval.
    """
    fields = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
    if len(fields) < 3:
        raise InputError(
            f"{label}: found {len(fields)} columns, expected at least 3 (contig, start, end);"
            " correct the line"
        )
    contig, start_text, end_text = fields[:3]
    start, end = parse_position(start_text), parse_position(end_text)
    if start is None or end is None:
        raise InputError(
            f"{label}: start is '{excerpt(start_text)}' and end is '{excerpt(end_text)}', expected"
            f" whole numbers from 0 to {LAST_POSITION}; correct the line"
        )
    if start >= end:
        raise InputError(f"{label}: start {start} is not below end {end}; correct the line")
    return Region(sys.intern(contig), start, end)


def merge_regions(regions: Iterable[Region]) -> list[Region]:
    """Merge regions that overlap or touch.

    The result is sorted by start within each contig; contigs keep the order of their first regions.
    """
    merged: list[Region] = []
    for contig, members in _by_contig(regions).items():
        start, end = members[0].start, members[0].end
        for region in members[1:]:
            if region.start > end:
                merged.append(Region(contig, start, end))
                start, end = region.start, region.end
            end = max(end, region.end)
        merged.append(Region(contig, start, end))
    return merged


def common_regions(first: Iterable[Region], second: Iterable[Region]) -> list[Region]:
    """Return the bases that two sets of regions share, as regions in the order of `merge_regions`.

    The contigs are in the order of the first set.
    """
    others = _by_contig(merge_regions(second))
    common = []
    for contig, members in _by_contig(merge_regions(first)).items():
        waiting = others.get(contig, [])
        number = 0
        for region in members:
            while number < len(waiting) and waiting[number].end <= region.start:
                number += 1
            rest = map(waiting.__getitem__, range(number, len(waiting)))
            for other in takewhile(region.overlaps, rest):
                start, end = max(region.start, other.start), min(region.end, other.end)
                common.append(Region(contig, start, end))
    return common


def _by_contig(regions: Iterable[Region]) -> dict[str, list[Region]]:
    groups: dict[str, list[Region]] = {}
    for region in regions:
        groups.setdefault(region.contig, []).append(region)
    for members in groups.values():
        members.sort()
    return groups
