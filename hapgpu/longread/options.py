"""Options for minimizers, seeds, chains, mappings and alignments, and their presets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from hapgpu.errors import UsageError

LONGEST_KMER: Final = 28
WIDEST_WINDOW: Final = 255
WIDEST_BAND: Final = 200_000
"""Largest bandwidth: all gap costs up to it fit 16 bits for every k-mer length."""
UNLIMITED_SKIP: Final = 1_000_000_000
"""`ChainOptions.max_skip` to visit every predecessor, as the paper on mm2-ax does."""
LARGEST_READ: Final = 20 << 20
"""Most anchors of a read, besides one per base: some 940 MB on the CPU."""
ANCHOR_BYTES: Final = 16
"""Bytes of an anchor, as `--max-record` counts them."""
MAX_SCORE: Final = 127
"""Largest sum of the score of a match and the cost of a gap of one base (twice this cost if short
and long gaps cost the same): differences of scores are kept in 8 bits, as in minimap2."""
MAX_GAP_COSTS: Final = 127
"""Largest sum of the two costs of a gap of one base."""
MAX_DROP: Final = 1_000_000_000
"""Largest drop of the score, and largest bonus: sums with a score fit 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SketchOptions:
    """Options for minimizers.

    Attributes
    ----------
    k
        K-mer length in bases, 1 to `LONGEST_KMER`.
    w
        K-mers per window, 1 to `WIDEST_WINDOW`.
    is_hpc
        Homopolymer compression: a run of equal bases counts as one base.
    """

    k: int = 15
    w: int = 10
    is_hpc: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedOptions:
    """Options for seeds.

    Attributes
    ----------
    repetitive
        `-f`: below 1, the fraction of distinct minimizers to treat as repetitive; otherwise the
        cutoff: minimizers with more occurrences are repetitive.
    min_cutoff, max_cutoff
        `-U`: lower and upper bound of the cutoff that the fraction gives.
    occurrence_distance
        `-e`: keep one repetitive minimizer per this many bases of the read; 0 keeps none.
    read_fraction
        `--q-occ-frac`: a k-mer is too frequent above this fraction of the read's minimizers.
    """

    repetitive: float = 2e-4
    min_cutoff: int = 10
    max_cutoff: int = 1_000_000
    occurrence_distance: int = 500
    read_fraction: float = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOptions:
    """Options for chaining.

    Attributes
    ----------
    max_gap
        `-g`: largest distance in bases between consecutive anchors of a chain.
    bandwidth, long_bandwidth
        `-r`: largest difference of diagonals between consecutive anchors, in chaining and in the
        long join.
    min_count, min_score
        `-n`, `-m`: fewest anchors and lowest score of a chain.
    max_skip, max_iterations
        `--max-chain-skip`, `--max-chain-iter`: limits on the predecessors visited.
    joins
        Join chains over long gaps (`--no-long-join`: do not).
    """

    max_gap: int = 5000
    bandwidth: int = 500
    long_bandwidth: int = 20_000
    min_count: int = 3
    min_score: int = 40
    max_skip: int = 25
    max_iterations: int = 5000
    joins: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingOptions:
    """Options for mappings.

    Attributes
    ----------
    mask_level
        `-M`: overlap above which a mapping is secondary to another.
    score_ratio
        `-p`: lowest score of a secondary mapping, as a fraction of its primary's score.
    max_secondary
        `-N`: most secondary mappings per read.
    all_chains
        `-P`: report every mapping, without distinction of primary and secondary.
    prints_secondary
        `--secondary`: write secondary mappings.
    uses_names
        Break ties between mappings by the read's name (`--no-hash-name`: do not).
    prints_unmapped
        `--paf-no-hit`: write a line for each unmapped read.
    """

    mask_level: float = 0.5
    score_ratio: float = 0.8
    max_secondary: int = 5
    all_chains: bool = False
    prints_secondary: bool = True
    uses_names: bool = True
    prints_unmapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignOptions:
    """Options for base alignment.

    Attributes
    ----------
    match, mismatch
        `-A`, `-B`: score of equal bases; cost of different ones.
    transition
        `-b`: cost of A-G and C-T; 0: as `mismatch`.
    ambiguous
        `--score-N`: cost of a base other than A, C, G and T.
    gap_open, gap_extend, gap_open2, gap_extend2
        `-O`, `-E`: a gap of n bases costs the smaller of open + n * extend.
    drop, inversion_drop
        `-z`: largest drop of the score, in general and to look for an inversion.
    end_bonus
        `--end-bonus`: score of an alignment that reaches the end of the read.
    min_score
        `-s`: lowest score of the best part of an alignment.
    min_piece
        `--min-dp-len`: fewest bases between two anchors that are aligned on their own.
    max_cells
        `--cap-sw-mem`: cells of the largest matrix; larger ones are not aligned.
    filters_ends
        Drop unreliable anchors at the ends of a chain (`--no-end-flt`: do not).
    """

    match: int = 2
    mismatch: int = 4
    transition: int = 0
    ambiguous: int = 1
    gap_open: int = 4
    gap_extend: int = 2
    gap_open2: int = 24
    gap_extend2: int = 1
    drop: int = 400
    inversion_drop: int = 200
    end_bonus: int = -1
    min_score: int = 80
    min_piece: int = 200
    max_cells: int = 100_000_000
    filters_ends: bool = True


class Difference(Enum):
    """Optional tag with the differences between read and reference."""

    NONE = 0
    MD = 1
    CS = 2
    LONG_CS = 3
    DS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """Options for lines with base alignments.

    Attributes
    ----------
    is_sam
        `-a`: write SAM, not PAF.
    has_cigar
        `-c`: write the tag cg in PAF.
    difference
        `--MD`, `--ds`, `--cs`: tag to write; minimap2 writes MD before ds before cs.
    splits_matches
        `--eqx`: write = and X, not M.
    moves_long_cigars
        `-L`: write CIGARs of more than 65,535 operations as the tag CG.
    soft_clips_all
        `-Y`: soft-clip supplementary records.
    mapped_only
        `--sam-hit-only`: do not write unmapped reads.
    secondary_bases
        `--secondary-seq`: write the bases of secondary records.
    read_group
        `-R`: identifier of the read group.
    copies_comments
        `-y`: append the comments of FASTQ and FASTA.
    """

    is_sam: bool = False
    has_cigar: bool = False
    difference: Difference = Difference.NONE
    splits_matches: bool = False
    moves_long_cigars: bool = False
    soft_clips_all: bool = False
    mapped_only: bool = False
    secondary_bases: bool = False
    read_group: str | None = None
    copies_comments: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LongReadOptions:
    """All options of long-read mapping.

    Attributes
    ----------
    align
        Used only if bases are aligned (`-c`, `-a`, `--cs`).
    max_anchors
        Most anchors of a read, besides one per base (`--max-record`).
    """

    sketch: SketchOptions = field(default_factory=SketchOptions)
    seeds: SeedOptions = field(default_factory=SeedOptions)
    chains: ChainOptions = field(default_factory=ChainOptions)
    mappings: MappingOptions = field(default_factory=MappingOptions)
    align: AlignOptions = field(default_factory=AlignOptions)
    max_anchors: int = LARGEST_READ


def _presets() -> dict[str, LongReadOptions]:
    default = LongReadOptions()
    accurate = replace(
        default,
        sketch=SketchOptions(k=19, w=19),
        seeds=replace(default.seeds, min_cutoff=50, max_cutoff=500),
        chains=replace(default.chains, max_gap=10_000),
    )
    precise = replace(
        accurate,
        align=AlignOptions(
            match=1, gap_open=6, gap_extend=2, gap_open2=26, gap_extend2=1, min_score=200
        ),
    )
    compressed = replace(default, sketch=SketchOptions(k=19, w=10, is_hpc=True))
    return {
        "map-ont": default,
        "map-pb": compressed,
        "map-hifi": precise,
        "lr:hq": accurate,
    }


PRESETS: Final = _presets()
"""Presets of minimap2 2.30 by name; `map-ont` is the default."""


def preset(name: str) -> LongReadOptions:
    """Return the options of a preset.

    Raises
    ------
    UsageError
        No preset has this name.
    """
    if name not in PRESETS:
        raise UsageError(
            f"-x {name}: unknown preset; give {', '.join(PRESETS)}, or use minimap2 for overlaps"
            " between reads, assemblies, spliced and short reads"
        )
    return PRESETS[name]
