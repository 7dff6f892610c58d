"""minimap2's command-line options as `MapOptions`, for tests that run both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final

from hapgpu.chaining.options import MapOptions, preset

_GROUPS: Final = ("sketch", "seeds", "chains", "mappings")
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
_FLAGS: Final[dict[str, tuple[str, bool]]] = {
    "-H": ("is_hpc", True),
    "--no-long-join": ("joins", False),
    "-P": ("all_chains", True),
    "--secondary=no": ("prints_secondary", False),
    "--no-hash-name": ("uses_names", False),
    "--paf-no-hit": ("prints_unmapped", True),
}
_FRACTIONS: Final = {"repetitive", "read_fraction", "mask_level", "score_ratio"}


def options_of(arguments: Sequence[str]) -> MapOptions:
    """Parse options; a long option has its value after `=`, the preset comes first."""
    options = MapOptions()
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
        for field, value in zip(_VALUES[name], text.split(","), strict=False):
            options = _with(options, field, float(value) if field in _FRACTIONS else int(value))
    return options


def _with(options: MapOptions, field: str, value: Any) -> MapOptions:
    for name in _GROUPS:
        group = getattr(options, name)
        if field in {known.name for known in fields(group)}:
            return replace(options, **{name: replace(group, **{field: value})})
    raise AssertionError(field)
