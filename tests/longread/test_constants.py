"""Constants of minimap2 2.30, by the names of its options and files."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.longread.options import PRESETS
from tests.constants import Rows, constant, names, not_as_named

ROWS: Rows = [
    ("longread.batches.REVERSE", 1 << 63, "strand of an anchor: mm128_t.x"),
    ("longread.batches.SPAN_SHIFT", 32, "span of an anchor: mm128_t.y"),
    ("longread.batches.TANDEM", 1 << 42, "MM_SEED_TANDEM"),
    ("longread.align.batches.IGNORED", 1 << 41, "MM_SEED_IGNORE"),
    ("longread.align.batches.LONG_JOIN", 1 << 40, "MM_SEED_LONG_JOIN"),
    ("longread.align.batches.TEMPORARY_PRIMARY", -2, "MM_PARENT_TMP_PRI"),
    ("longread.align.batches.UNREACHED", -(1 << 30), "KSW_NEG_INF"),
    ("longread.align.cigars._ROUNDING", 0.499, "mm_update_extra"),
    ("longread.align.cigars._SMALLEST_MERGED", 3, "mm_fix_cigar: more than 2 operations"),
    ("longread.align.cigars._SQUARE", np.float32(-0.34484843), "mg_log2"),
    ("longread.align.cigars._LINEAR", np.float32(2.02466578), "mg_log2"),
    ("longread.align.cigars._CONSTANT", np.float32(0.67487759), "mg_log2"),
    ("longread.align.start._AMBIGUOUS", 4, "seq_nt4_table"),
    ("longread.align.dp.bands.BLOCK", 16, "lanes of SSE in ksw2"),
    ("longread.align.dp.results.SCORE_ONLY", 0x01, "KSW_EZ_SCORE_ONLY"),
    ("longread.align.dp.results.RIGHT", 0x02, "KSW_EZ_RIGHT"),
    ("longread.align.dp.results.APPROXIMATE", 0x08, "KSW_EZ_APPROX_MAX"),
    ("longread.align.dp.results.APPROXIMATE_DROP", 0x10, "KSW_EZ_APPROX_DROP"),
    ("longread.align.dp.results.EXTENSION", 0x40, "KSW_EZ_EXTZ_ONLY"),
    ("longread.align.dp.results.REVERSED_OPERATIONS", 0x80, "KSW_EZ_REV_CIGAR"),
    ("longread.align.dp.results.NO_SCORE", -(1 << 30), "KSW_NEG_INF"),
    ("longread.align.dp.results.LOCAL_COLUMNS", 8, "ksw_ll_i16: 8 words of a vector"),
    ("longread.align.dp.results.MAX_LOCAL_SCORE", 32_767, "ksw_ll_i16: int16 saturates"),
    ("longread.align.dp.results.PairOptions.bandwidth", -1, "ksw2: no band"),
    ("longread.align.dp.results.PairOptions.end_bonus", -1, "mm_mapopt_init: end_bonus"),
    ("longread.align.dp.results.PairOptions.zdrop", -1, "ksw2: no z-drop"),
    ("longread.align.piece_anchors._MIN_GAP", 10, "mm_filter_bad_seeds(.., 10, 40, ..)"),
    ("longread.align.piece_anchors._MIN_CANCELLED", 40, "mm_filter_bad_seeds(.., 10, 40, ..)"),
    ("longread.align.piece_anchors._MAX_STEPS", 10, "mm_filter_bad_seeds(.., 10)"),
    ("longread.align.piece_anchors._MIN_LONG_GAP", 30, "mm_filter_bad_seeds_alt(.., 30, ..)"),
    ("longread.align.pieces._MIN_FILTERED", 3, "mm_fix_bad_ends: cnt < 3"),
    ("longread.align.ranking._PER_MATCH", np.float32(6.02), "mm_set_mapq: 6.02f"),
    ("longread.align.ranking.MIN_LENGTH", 500, "rank_min_len"),
    ("longread.align.ranking.MIN_FRACTION", float(np.float32(0.9)), "rank_frac"),
    ("longread.align.ranking.MIN_DIVERGENCE", 0.02, "mm_update_dp_max"),
    ("longread.align.ranking._ROUNDING", 0.499, "mm_update_dp_max"),
    ("longread.align.drops.DROP", 1, "mm_test_zdrop"),
    ("longread.align.drops.INVERSION_DROP", 2, "mm_test_zdrop"),
    ("longread.align.parameters.CODES", 5, "ksw_gen_ts_mat(5, ..)"),
    ("longread.align.parameters.AMBIGUOUS", 4, "seq_nt4_table"),
    ("longread.index.files.VERSION", 2, "of hgm files that exist"),
    ("longread.chain.join._MIN_UNCHAINED", 1000, "rmq_rescue_size"),
    ("longread.chain.join._MIN_FRACTION", np.float32(0.1), "rmq_rescue_ratio"),
    ("longread.mappings.mappings._SEED", 11, "--seed"),
    ("longread.mappings.selection.STRAND_FRACTION", 0.8, "mm_select_sub: max_gap * 0.8"),
    ("longread.options.LONGEST_KMER", 28, "-k"),
    ("longread.options.WIDEST_WINDOW", 255, "-w"),
    ("longread.options.MAX_GAP_COSTS", 127, "mm_check_opt: (q+e)+(q2+e2) <= 127"),
    ("longread.options.SketchOptions.k", 15, "-k"),
    ("longread.options.SketchOptions.w", 10, "-w"),
    ("longread.options.SeedOptions.repetitive", 2e-4, "-f"),
    ("longread.options.SeedOptions.min_cutoff", 10, "-U"),
    ("longread.options.SeedOptions.max_cutoff", 1_000_000, "-U"),
    ("longread.options.SeedOptions.occurrence_distance", 500, "-e"),
    ("longread.options.SeedOptions.read_fraction", 0.01, "--q-occ-frac"),
    ("longread.options.ChainOptions.max_gap", 5000, "-g"),
    ("longread.options.ChainOptions.bandwidth", 500, "-r"),
    ("longread.options.ChainOptions.long_bandwidth", 20_000, "-r"),
    ("longread.options.ChainOptions.min_count", 3, "-n"),
    ("longread.options.ChainOptions.min_score", 40, "-m"),
    ("longread.options.ChainOptions.max_skip", 25, "--max-chain-skip"),
    ("longread.options.ChainOptions.max_iterations", 5000, "--max-chain-iter"),
    ("longread.options.MappingOptions.mask_level", 0.5, "-M"),
    ("longread.options.MappingOptions.score_ratio", 0.8, "-p"),
    ("longread.options.MappingOptions.max_secondary", 5, "-N"),
    ("longread.options.AlignOptions.match", 2, "-A"),
    ("longread.options.AlignOptions.mismatch", 4, "-B"),
    ("longread.options.AlignOptions.transition", 0, "-b"),
    ("longread.options.AlignOptions.ambiguous", 1, "--score-N"),
    ("longread.options.AlignOptions.gap_open", 4, "-O"),
    ("longread.options.AlignOptions.gap_extend", 2, "-E"),
    ("longread.options.AlignOptions.gap_open2", 24, "-O"),
    ("longread.options.AlignOptions.gap_extend2", 1, "-E"),
    ("longread.options.AlignOptions.drop", 400, "-z"),
    ("longread.options.AlignOptions.inversion_drop", 200, "-z"),
    ("longread.options.AlignOptions.end_bonus", -1, "--end-bonus"),
    ("longread.options.AlignOptions.min_score", 80, "-s"),
    ("longread.options.AlignOptions.min_piece", 200, "--min-dp-len"),
    ("longread.options.AlignOptions.max_cells", 100_000_000, "--cap-sw-mem"),
    ("longread.output.sam._REVERSE", 0x10, "SAM"),
    ("longread.output.sam._SECONDARY", 0x100, "SAM"),
    ("longread.output.sam._SUPPLEMENTARY", 0x800, "SAM"),
    ("longread.output.sam._MAX_BAM_OPERATIONS", 65_535, "BAM: uint16 n_cigar_op"),
    ("longread.parameters.GAP_SCALE", 0.8, "--chain-gap-scale"),
    ("longread.parameters.INNER_DISTANCE", 1000, "rmq_inner_dist"),
    ("longread.parameters.MAX_CANDIDATES", 100_000, "rmq_size_cap"),
    ("longread.mappings.quality._RETAINED_RATIO", np.float32(5), "mm_filter_strand_retained: 5.0f"),
    (
        "longread.mappings.quality._MIN_RETAINED",
        np.float32(0.01),
        "mm_filter_strand_retained: 0.01f",
    ),
    ("longread.mappings.quality.MAX_QUALITY", 60, "mm_set_mapq"),
    ("longread.mappings.quality.SCALE", np.float32(40), "mm_set_mapq: q_coef"),
    ("longread.mappings.quality.ROUNDING", np.float32(0.499), "mm_set_mapq"),
    ("longread.mappings.quality._PHRED", np.float32(4.343), "mm_set_mapq"),
    ("longread.mappings.quality._PER_SCORE", np.float32(0.01), "mm_set_mapq"),
    ("longread.mappings.quality._PER_ANCHOR", np.float32(0.1), "mm_set_mapq"),
    ("longread.mappings.quality._FULL_SCORE", 100, "mm_set_mapq"),
    ("longread.mappings.quality._FULL_COUNT", 10, "mm_set_mapq"),
    ("longread.seed.seeds.MAX_OCCURRENCES", 4095, "max_max_occ"),
    ("longread.seed.seeds.MAX_KEPT", 128, "MAX_MAX_HIGH_OCC"),
    ("longread.seed.seeds._ROUNDING", 0.499, "mm_seed_select"),
    ("longread.index.kmers.LONGEST_SPAN", 255, "mm_sketch: span < 256"),
    ("longread.index.kmers._AMBIGUOUS", 4, "seq_nt4_table"),
    ("longread.seed.radix_sort.LONGEST_INSERTION", 64, "RS_MIN_SIZE"),
]


@pytest.mark.parametrize(("name", "value", "source"), ROWS, ids=names(ROWS))
def test_constants_of_minimap2(name: str, value: object, source: str) -> None:
    assert constant(name) == value, source


@pytest.mark.parametrize(
    ("name", "sketch", "seeds", "max_gap", "costs"),
    [
        ("map-ont", (15, 10, False), (10, 1_000_000), 5000, (2, 4, 4, 2, 24, 1, 80)),
        ("map-pb", (19, 10, True), (10, 1_000_000), 5000, (2, 4, 4, 2, 24, 1, 80)),
        ("map-hifi", (19, 19, False), (50, 500), 10_000, (1, 4, 6, 2, 26, 1, 200)),
        ("lr:hq", (19, 19, False), (50, 500), 10_000, (2, 4, 4, 2, 24, 1, 80)),
    ],
)
def test_presets_of_minimap2(
    name: str,
    sketch: tuple[int, int, bool],
    seeds: tuple[int, int],
    max_gap: int,
    costs: tuple[int, ...],
) -> None:
    """As in `mm_set_opt`."""
    chosen = PRESETS[name]
    align = chosen.align
    assert (chosen.sketch.k, chosen.sketch.w, chosen.sketch.is_hpc) == sketch
    assert (chosen.seeds.min_cutoff, chosen.seeds.max_cutoff) == seeds
    assert chosen.chains.max_gap == max_gap
    gaps = align.gap_open, align.gap_extend, align.gap_open2, align.gap_extend2
    assert (align.match, align.mismatch, *gaps, align.min_score) == costs


def test_numbers_are_named_by_their_values() -> None:
    assert not not_as_named("longread")
