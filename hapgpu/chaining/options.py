"""What a user may choose of minimizers, seeds, chains and mappings, and the presets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from hapgpu.errors import UsageError

LONGEST_KMER: Final = 28
WIDEST_WINDOW: Final = 255
WIDEST_BAND: Final = 200_000
"""Largest bandwidth: the costs of all gaps up to it fit into 16 bits, whatever the k-mer."""
UNLIMITED_SKIP: Final = 1_000_000_000
"""`ChainOptions.max_skip` that visits every predecessor, as the paper on mm2-ax does."""


@dataclass(frozen=True, slots=True)
class SketchOptions:
    """Which k-mers are minimizers.

    Attributes
    ----------
    k
        Bases of a k-mer, 1 to `LONGEST_KMER`.
    w
        K-mers of a window, 1 to `WIDEST_WINDOW`.
    is_hpc
        A run of equal bases counts as one base.
    """

    k: int = 15
    w: int = 10
    is_hpc: bool = False


@dataclass(frozen=True, slots=True)
class SeedOptions:
    """Which minimizers of a read become seeds.

    Attributes
    ----------
    repetitive
        `-f`: below 1 the fraction of distinct minimizers to take as repetitive, otherwise the
        number of occurrences above which one is.
    min_cutoff, max_cutoff
        `-U`: bounds of the number that the fraction gives.
    occurrence_distance
        `-e`: bases of the read per repetitive minimizer to keep; 0 keeps none.
    read_fraction
        `--q-occ-frac`: share of a read's minimizers from which on one k-mer is too frequent.
    """

    repetitive: float = 2e-4
    min_cutoff: int = 10
    max_cutoff: int = 1_000_000
    occurrence_distance: int = 500
    read_fraction: float = 0.01


@dataclass(frozen=True, slots=True)
class ChainOptions:
    """How anchors are chained.

    Attributes
    ----------
    max_gap
        `-g`: bases between neighbouring anchors.
    bandwidth, long_bandwidth
        `-r`: how far the diagonals of neighbours may differ, in chaining and in the long join.
    min_count, min_score
        `-n`, `-m`: anchors and score of a chain.
    max_skip, max_iterations
        `--max-chain-skip`, `--max-chain-iter`.
    joins
        Whether chains are joined over long gaps (`--no-long-join` does not).
    """

    max_gap: int = 5000
    bandwidth: int = 500
    long_bandwidth: int = 20_000
    min_count: int = 3
    min_score: int = 40
    max_skip: int = 25
    max_iterations: int = 5000
    joins: bool = True


@dataclass(frozen=True, slots=True)
class MappingOptions:
    """Which chains are reported.

    Attributes
    ----------
    mask_level
        `-M`: overlap from which on a chain is secondary to another.
    score_ratio
        `-p`: score of a secondary chain to keep, in shares of its primary's.
    max_secondary
        `-N`: secondary chains of a read to keep.
    all_chains
        `-P`: report every chain, without primary and secondary.
    prints_secondary
        `--secondary`.
    uses_names
        The name of a read decides between equal chains (`--no-hash-name`: it does not).
    prints_unmapped
        `--paf-no-hit`.
    """

    mask_level: float = 0.5
    score_ratio: float = 0.8
    max_secondary: int = 5
    all_chains: bool = False
    prints_secondary: bool = True
    uses_names: bool = True
    prints_unmapped: bool = False


@dataclass(frozen=True, slots=True)
class MapOptions:
    """All of it."""

    sketch: SketchOptions = field(default_factory=SketchOptions)
    seeds: SeedOptions = field(default_factory=SeedOptions)
    chains: ChainOptions = field(default_factory=ChainOptions)
    mappings: MappingOptions = field(default_factory=MappingOptions)


def _presets() -> dict[str, MapOptions]:
    plain = MapOptions()
    accurate = replace(
        plain,
        sketch=SketchOptions(19, 19),
        seeds=replace(plain.seeds, min_cutoff=50, max_cutoff=500),
        chains=replace(plain.chains, max_gap=10_000),
    )
    compressed = replace(plain, sketch=SketchOptions(19, 10, is_hpc=True))
    return {
        "map-ont": plain,
        "map-pb": compressed,
        "map-hifi": accurate,
        "lr:hq": accurate,
    }


PRESETS: Final = _presets()
"""Of minimap2 2.30, by name; `map-ont` is the default."""


def preset(name: str) -> MapOptions:
    """Return the options of a preset.

    Raises
    ------
    UsageError
        There is none of this name.
    """
    if name not in PRESETS:
        raise UsageError(
            f"-x {name}: hapgpu chain has {', '.join(PRESETS)}; overlaps between reads, assemblies,"
            " spliced and short reads need other algorithms: use minimap2 for them"
        )
    return PRESETS[name]
