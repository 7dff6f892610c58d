"""minimap2's options as `LongReadOptions` and `LineOptions`, for tests that run both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final

from hapgpu.cli.options.numbers import parse_large_count
from hapgpu.longread.options import AlignOptions, Difference, LineOptions, LongReadOptions, preset

_GROUPS: Final = ("sketch", "seeds", "chains", "mappings", "align")
_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "-k": ("k",),
    "-w": ("w",),
    "-f": ("repetitive",),
    "-U": ("min_cutoff", "max_cutoff"),
    "-e": ("occurrence_distance",),
    "--q-occ-frac": ("read_fraction",),
    "-r": ("bandwidth", "long_bandwidth"),
    "-g": ("max_gap",),
    "-n": ("min_count",),
    "-m": ("min_score",),
    "--max-chain-skip": ("max_skip",),
    "--max-chain-iter": ("max_iterations",),
    "-M": ("mask_level",),
    "-p": ("score_ratio",),
    "-N": ("max_secondary",),
}
_ALIGN_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "-A": ("match",),
    "-B": ("mismatch",),
    "-b": ("transition",),
    "-O": ("gap_open", "gap_open2"),
    "-E": ("gap_extend", "gap_extend2"),
    "-z": ("drop", "inversion_drop"),
    "-s": ("min_score",),
    "--score-N": ("ambiguous",),
    "--end-bonus": ("end_bonus",),
    "--min-dp-len": ("min_piece",),
    "--cap-sw-mem": ("max_cells",),
}
"""A single number is the value of both fields."""
_LINE_FLAGS: Final[dict[str, tuple[str, Any]]] = {
    "-c": ("has_cigar", True),
    "-a": ("is_sam", True),
    "--cs": ("difference", Difference.CS),
    "--cs=short": ("difference", Difference.CS),
    "--cs=long": ("difference", Difference.LONG_CS),
    "--ds": ("difference", Difference.DS),
    "--MD": ("difference", Difference.MD),
    "--eqx": ("splits_matches", True),
    "-L": ("moves_long_cigars", True),
    "-Y": ("soft_clips_all", True),
    "--sam-hit-only": ("mapped_only", True),
    "--secondary-seq": ("secondary_bases", True),
    "-y": ("copies_comments", True),
}
_FLAGS: Final[dict[str, tuple[str, bool]]] = {
    "-H": ("is_hpc", True),
    "--no-long-join": ("joins", False),
    "-P": ("all_chains", True),
    "--secondary=no": ("prints_secondary", False),
    "--no-hash-name": ("uses_names", False),
    "--paf-no-hit": ("prints_unmapped", True),
    "--no-end-flt": ("filters_ends", False),
}
_FRACTIONS: Final = {"repetitive", "read_fraction", "mask_level", "score_ratio"}


def options_of(arguments: Sequence[str]) -> LongReadOptions:
    """Parse options; a long option has its value after `=`, the preset comes first."""
    options = LongReadOptions()
    remaining = iter(arguments)
    for argument in remaining:
        if argument in _FLAGS:
            options = _with(options, *_FLAGS[argument])
            continue
        name, _, text = argument.partition("=")
        text = text or next(remaining)
        if name == "-x":
            options = preset(text)
            continue
        if name in _ALIGN_VALUES:
            options = replace(options, align=_with_align(options.align, _ALIGN_VALUES[name], text))
            continue
        for field, value in zip(_VALUES[name], text.split(","), strict=False):
            options = _with(options, field, float(value) if field in _FRACTIONS else int(value))
    return options


def _with(options: LongReadOptions, field: str, value: Any) -> LongReadOptions:
    for name in _GROUPS:
        group = getattr(options, name)
        if field in {known.name for known in fields(group)}:
            return replace(options, **{name: replace(group, **{field: value})})
    raise AssertionError(field)


def _with_align(align: AlignOptions, names: Sequence[str], text: str) -> AlignOptions:
    values = [parse_large_count(number) for number in text.split(",")]
    values += values[-1:] * (len(names) - len(values))
    return replace(align, **dict(zip(names, values, strict=True)))


def line_options_of(arguments: Sequence[str]) -> tuple[LineOptions, list[str]]:
    """Parse the options on lines with base alignments; return the other arguments, too."""
    lines, others = LineOptions(), []
    differences = []
    for argument in arguments:
        if argument not in _LINE_FLAGS:
            others.append(argument)
            continue
        field, value = _LINE_FLAGS[argument]
        if field == "difference":
            differences.append(value)
        else:
            lines = replace(lines, **{field: value})
    order = (Difference.MD, Difference.DS, Difference.LONG_CS, Difference.CS)
    differences.sort(key=order.index)
    return replace(lines, difference=next(iter(differences), Difference.NONE)), others
