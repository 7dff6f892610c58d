"""The options of `hapgpu chain` on base alignment, with minimap2's letters, as groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from hapgpu.cli.options.common import HitOnly, OutputFormat, ReadGroupLine, SecondarySeq
from hapgpu.cli.options.numbers import OneOrTwo, parse_count, parse_large_count, parse_one_or_two
from hapgpu.errors import UsageError
from hapgpu.io.files.names import extension_of
from hapgpu.longread.options import Difference, LineOptions

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from hapgpu.io.alignments.unsorted_header import ReadGroup
    from hapgpu.longread.settings import AlignSettings

_align_option = partial(typer.Option, rich_help_panel="Base alignment")
_output_option = partial(typer.Option, rich_help_panel="Output")
_FORMATS: Final = tuple(map(str, OutputFormat))
_COUNT: Final = {"metavar": "INT", "parser": parse_count}
_ONE_OR_TWO: Final = {"metavar": "INT[,INT]", "parser": parse_one_or_two}


class CsForm(StrEnum):
    """Value of `--cs`."""

    SHORT = "short"
    LONG = "long"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignArguments:
    """The options on the scores of base alignment; None if not given."""

    match: Annotated[
        int | None, _align_option("-A", **_COUNT, help="Matching score [2; map-hifi 1].")
    ] = None
    mismatch: Annotated[int | None, _align_option("-B", **_COUNT, help="Mismatch cost [4].")] = None
    transition: Annotated[
        int | None, _align_option("-b", **_COUNT, help="Transition cost; 0: as -B [0].")
    ] = None
    gap_open_or_format: Annotated[
        list[str] | None,
        _align_option(
            "-O",
            metavar="INT[,INT]|sam|bam|cram",
            help="Gap open costs [4,24; map-hifi 6,26]; or the output format, as --output-fmt.",
        ),
    ] = None
    gap_extend: Annotated[
        OneOrTwo | None,
        _align_option(
            "-E",
            **_ONE_OR_TWO,
            help="Gap extension costs; a gap of k bases costs the smaller of O1+k*E1 and O2+k*E2 "
            "[2,1].",
        ),
    ] = None
    drops: Annotated[
        OneOrTwo | None,
        _align_option(
            "-z",
            **_ONE_OR_TWO,
            help="Largest drop of the score within an alignment, and to look for inversions "
            "[400,200].",
        ),
    ] = None
    min_dp_score: Annotated[
        int | None,
        _align_option(
            "-s",
            **_COUNT,
            help="Minimum score of the best part of an alignment [80; map-hifi 200].",
        ),
    ] = None
    ambiguous: Annotated[
        int | None, _align_option("--score-N", **_COUNT, help="Cost of an ambiguous base [1].")
    ] = None
    end_bonus: Annotated[
        int | None,
        _align_option("--end-bonus", **_COUNT, help="Score for reaching the end of the read [0]."),
    ] = None
    cap_sw_mem: Annotated[
        int | None,
        _align_option(
            "--cap-sw-mem",
            metavar="INT",
            parser=parse_large_count,
            help="Do not align pieces with more cells than this; 0: no limit [100m].",
        ),
    ] = None
    min_dp_len: Annotated[
        int | None,
        _align_option(
            "--min-dp-len",
            **_COUNT,
            help="Fewest bases between two anchors that are aligned on their own [200].",
        ),
    ] = None
    no_end_flt: Annotated[
        bool, _align_option("--no-end-flt", help="Keep unreliable anchors at the ends of chains.")
    ] = False

    def settings(self) -> AlignSettings:
        """Return the options given, as settings."""
        opens, _ = gap_open_and_format(self.gap_open_or_format or ())
        return cast("AlignSettings", given_of(self) | ({"gap_open": opens.values} if opens else {}))


def given_of(arguments: DataclassInstance) -> dict[str, object]:
    """Return the values given for options, numbers as settings have them."""
    values = {each.name: getattr(arguments, each.name) for each in fields(arguments)}
    return {
        name: value.values if isinstance(value, OneOrTwo) else value
        for name, value in values.items()
        if value is not None
    }


def gap_open_and_format(values: Sequence[str]) -> tuple[OneOrTwo | None, str | None]:
    """Return the gap open costs, and the output format, of all values of `-O`; None if not given.

    Raises
    ------
    UsageError
        A value is neither.
    """
    opens = chosen_format = None
    for value in values:
        if value in _FORMATS:
            chosen_format = value
            continue
        try:
            opens = parse_one_or_two(value)
        except typer.BadParameter:
            formats = ", ".join(_FORMATS)
            raise UsageError(
                f"-O {value}: unknown; give gap open costs, or one of {formats}"
            ) from None
    return opens, chosen_format


@dataclass(frozen=True, slots=True)
class AlignmentForm:
    """Form of the output with base alignments.

    Attributes
    ----------
    format
        sam, bam or cram; None for PAF.
    lines
        Options for the lines.
    group
        Read group of all reads, if given.
    has_program
        Whether the header has an @PG line.
    uncompressed
        Whether BAM is written without compression.
    """

    format: str | None
    lines: LineOptions
    group: ReadGroup | None
    has_program: bool
    uncompressed: bool = False

    @property
    def variant(self) -> list[str]:
        """Options for a run of this kind, see `Run`: the format may follow from a file's name."""
        return ["-a" if self.format else "-c"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineArguments:
    """The options on the format of the output, and what it has of each alignment."""

    cigar: Annotated[
        bool, _output_option("-c", help="Align bases; write the tag cg (CIGAR) in PAF.")
    ] = False
    sam: Annotated[
        bool,
        _output_option(
            "-a", help="Align bases, and write SAM; implied by the formats sam, bam and cram."
        ),
    ] = False
    paf: Annotated[bool, _output_option("--paf", help="Write PAF, as without -a.")] = False
    output_fmt: Annotated[
        OutputFormat | None,
        _output_option(
            "--output-fmt", help="Format of the alignments; if not given, by the extension of FILE."
        ),
    ] = None
    uncompressed: Annotated[
        bool, _output_option("--uncompressed", help="Write uncompressed BAM, for pipes.")
    ] = False
    cs: Annotated[
        CsForm | None,
        _output_option(
            "--cs",
            help="Align bases; write the tag cs (differences); --cs alone is --cs=short.",
        ),
    ] = None
    md: Annotated[bool, _output_option("--MD", help="Write the tag MD with each alignment.")] = (
        False
    )
    ds: Annotated[
        bool,
        _output_option("--ds", help="Write the tag ds: cs with the ambiguous bases of indels."),
    ] = False
    eqx: Annotated[bool, _output_option("--eqx", help="Write = and X in CIGARs, not M.")] = False
    long_cigar: Annotated[
        bool,
        _output_option(
            "-L", help="Write CIGARs of more than 65,535 operations as the tag CG of SAM."
        ),
    ] = False
    soft_clip: Annotated[
        bool, _output_option("-Y", help="Soft-clip supplementary alignments in SAM.")
    ] = False
    hit_only: HitOnly = False
    secondary_seq: SecondarySeq = False
    read_group: ReadGroupLine = None
    comments: Annotated[
        bool, _output_option("-y", help="Append the comments, or the tags, of the reads.")
    ] = False

    def alignment_form(
        self, output: Path | None, opens: Sequence[str], *, with_pg: bool
    ) -> AlignmentForm | None:
        """Return the form of the output; None if bases are not aligned.

        Parameters
        ----------
        output
            The file; None is standard output.
        opens
            Values of `-O`.
        with_pg
            Write an @PG line to the header of SAM.

        Raises
        ------
        UsageError
            Options contradict each other.
        """
        chosen = self.chosen_format(output, opens)
        if chosen is None and not (self.cigar or self.cs):
            return None
        from hapgpu.io.alignments.unsorted_header import parse_read_group  # noqa: PLC0415  (slow)

        group = parse_read_group(self.read_group) if self.read_group is not None else None
        lines = LineOptions(
            is_sam=chosen is not None,
            has_cigar=self.cigar,
            difference=self._difference(),
            splits_matches=self.eqx,
            moves_long_cigars=self.long_cigar,
            soft_clips_all=self.soft_clip,
            mapped_only=self.hit_only,
            secondary_bases=self.secondary_seq,
            read_group=group.identifier if group else None,
            copies_comments=self.comments,
        )
        return AlignmentForm(chosen, lines, group, with_pg, self.uncompressed)

    def chosen_format(self, output: Path | None, opens: Sequence[str]) -> str | None:
        """Return the format of alignments: sam, bam or cram; None for PAF.

        Parameters
        ----------
        output, opens
            As in `alignment_form`.

        Raises
        ------
        UsageError
            Options contradict each other.
        """
        _, by_letter = gap_open_and_format(opens)
        named = self.output_fmt or by_letter
        if self.paf:
            if self.sam or named or self.uncompressed:
                raise UsageError("--paf: contradicts -a and the formats of SAM; drop one of them")
            return None
        if self.uncompressed:
            return named or "bam"
        extension = extension_of(output) if output else ""
        if named is None and extension in _FORMATS:
            return extension
        return named or ("sam" if self.sam else None)

    def _difference(self) -> Difference:
        """Return the tag to write: minimap2 writes only the first of MD, ds and cs."""
        if self.md:
            return Difference.MD
        if self.ds:
            return Difference.DS
        if self.cs is None:
            return Difference.NONE
        return Difference.LONG_CS if self.cs is CsForm.LONG else Difference.CS
