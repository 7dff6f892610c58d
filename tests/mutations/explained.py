"""Mutants that no test can or should notice, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.mutations.mutants import COMPARISON, Mutant

SPEED: Final = "decides about speed or memory only"
ROOM: Final = "is room for text or rows that is larger than needed, or grows"
PROGRESS: Final = "is a fraction of the progress that is shown"
HASH: Final = "is of a hash: results do not depend on its values"
GPU: Final = "is of launches on a GPU"
ACCURACY: Final = "decides how likelihoods are computed, not what they are within the tolerance"
ORDER: Final = "is a shift of a sort key: one more bit keeps its parts apart, and their order"
NONE: Final = "stands for none, or is below or above all values: others do so too"
LABEL: Final = "is the name of a case: another distinct number would do"
UNREAD: Final = "adds a result or a bit that no stage reads"

_TABLE: Final = {
    SPEED: """
        calling.regions.active_regions: ROOM_BEFORE MAX_ROOM_BEFORE ROOM_AFTER
        calling.annotations.rank_sums: _STEPS
        calling.batches: REFERENCE_ROOM LEAD
        calling.worker: _ALIGNER
        calling.reads.read_order: _RUN
        calling.reads.segment_reader: _BATCH_BASES _MAX_BASES _MAX_ALL_BASES _SHORT
        calling.reads.segments: _MAX_BASES _MIN_BASES _SEGMENTS_PER_WORKER
        longread.align.dp.pairs: _MIN_WIDTH _WIDTH_FRACTION _WIDTH_STEP _MAX_WIDENING _MIN_SAVING
        longread.align.dp.fills: MAX_DIRECTIONS MIN_LANES _FIRST_WIDTH
        longread.align.dp.fills: _MAX_WASTE _MIN_TOGETHER _WIDTH_FRACTION _STEP _MAX_GROWTH
        longread.align.dp.lanes: _AMBIGUOUS_WORD
        longread.align.pipeline: _FIRST_FILLS
        longread.seed.predecessor_ranges: BINS
        longread.anchor_chains: _ANCHORS_ON_CPU
        longread.index.build: _MIN_BATCH _MAX_BATCH _BATCHES_PER_THREAD
        longread.index.lookup: LOOKUPS
        longread.index.hash_table: _PIECE _PART_SIZE_BITS _MIN_PART_BITS _MAX_PART_BITS
        longread.index.hash_table: _BUCKET_SIZE_BITS _MAX_BUCKET_BITS
        longread.chain.join_scores: _BLOCK_BITS _BLOCK _MAX_BLOCKS _MAX_SEARCHES
        longread.options: LARGEST_READ
        longread.output.parts: PART_BYTES
        longread.pipeline: _CPU_BLOCK
        longread.chain.scores: _BLOCK
        longread.chain.pair_score: TILE
        longread.seed.seeds: _COUNTER_BITS (_MIX,_SHIFT)
        genotyping.calls.likelihoods: _NEARLY_UNDERFLOWING
        genotyping.calls.vcf_lines: _WORD_BITS
        genotyping.deep_loci: _MAX_ROWS _MAX_PAIRS
        genotyping.reads.aligned_reads: _MAX_BASES _BATCH_BASES
        genotyping.reads.locus_groups: _GROUPS_OF_A_SIZE _MAX_BATCHES _MAX_BYTES
        realign.api: _PAIRS_PER_PART
        shortread.api: _BASES_ON_CPU _BASES_PER_READ
        shortread.index.bwt: MAX_JUMP _MIN_JUMP _JUMP_BYTES _JUMP_BYTES_PER_BASE
        shortread.index.suffixes.buckets: _MAX_PREFIX _BUCKET_ROWS
        shortread.index.suffixes.cpu: _WIDTH _MIN_PART _PARTS _TASKS_PER_THREAD
        shortread.index.suffixes.key_sort: _SMALL
        shortread.index.suffixes.ties: _TASKS_PER_THREAD
        shortread.cpu: _MAX_ROWS _MAX_HITS _MAX_PARTS _MAX_TEXT
        shortread.pipeline: _CPU_BLOCK
        shortread.search.cpu: _READS_PER_STEP _CANDIDATES_PER_STEP
        shortread.search.packed_reads: _UPPER_CASE _A _T_FROM_E
        shortread.search.seeds: _FEW_ROWS _SOME_ROWS _MANY_STEPS
        pairhmm.api: _CELLS_PER_CALL _BYTES_PER_CALL _BYTES_PER_BASE _BYTES_PER_PAIR
        pairhmm.forward.cpu: _LENGTH_BIN _SLICES _MIN_READS _MAX_BYTES _PAIR_BYTES _BASE_BYTES
        pairhmm.reads.tandem_repeats: _LONGEST_RUN
        pairhmm.reads.cpu: _CELLS_PER_BATCH _BASES_PER_BATCH _LIKELIHOODS_PER_BATCH
        pairhmm.text_batches.reader: _PIECE_BYTES _MIN_PIECES _SMALL_PIECE
        realign.align.bands: _MISMATCHES _SHARE _ANY
        realign.align.cpu: LANES SEARCHED FILLED WORKSPACE_BYTES _WIDTHS _MISMATCHES
        realign.align.loss_lanes: _MANY
        realign.align.lane_groups: _INT16_SCORES
        realign.projection.move_table: _MOVES_IN_MEMORY
        realign.projection.haplotype_cigars: _MAX_MISMATCHES _MIN_DIAGONAL
        realign.projection.placement: _HAPLOTYPES_PER_BATCH
        realign.pipeline: _PAIRS_PER_BATCH _BATCH_BASES _MAX_REWRITING_THREADS
    """,
    ROOM: """
        calling.annotations.rank_sums: _MAX_EXACT
        pairhmm.reads.tandem_repeats: PADDING
        calling.assembly.assembler: _ROWS _TEXT
        calling.assembly.haplotypes: _PATHS _TEXT
        calling.assembly.simplification: _SPARE
        calling.output.reference_blocks: PHREDS _FIRST
        calling.output.gvcf_lines: _RECORDS
        calling.output.block_lines: _ITEMS
        calling.output.call_lines: _LINES
        calling.output.allele_texts: _TEXTS
        longread.align.start: PADDING
        longread.align.dp.local: _ROWS
        longread.align.dp.results: MARGIN _LANE_ROWS _COLUMNS
        longread.align.piece_bounds: CUT_COLUMNS
        longread.index.hash_table: _DIGITS
        longread.mappings.selection: COLUMNS
        longread.index.kmers: _RUNS
        longread.seed.radix_sort: _MAX_PENDING
        genotyping.calls.vcf_lines: _LINES
        genotyping.reads.scored_reads: _DIGEST
        shortread.sam.cpu: _LINE_BYTES
        shortread.search.cpu: _MIN_HELD
        shortread.search.seeds: COLUMNS
        pairhmm.forward.coefficients: FIELDS
        pairhmm.forward.double_lanes: DOUBLE_FIELDS
        pairhmm.forward.lanes: _STATES
        pairhmm.reads.tables: _LINE_BYTES _NAME_BYTES _VALUE_BYTES
        pairhmm.text_batches.parser: _SHOWN_BYTES
        pairhmm.text_batches.tables: _LINES _VALUES
        realign.projection.move_table: _ALIGNMENT
        realign.projection.project: _HAPLOTYPE_OVERHANG
    """,
    PROGRESS: """
        longread.index.build: (_READ,_SKETCHED,_SORTED,_TABLE)
        shortread.index.build: (_READ,_ENCODED,_SORTED,_TRANSFORMED,_POSITIONS)
    """,
    HASH: """
        calling.assembly.kmers: _FACTOR _HIGH
        calling.reads.read_order: _HASH_FACTOR _HASH_SHIFT
        calling.reads.windows: _FACTORS
        longread.index.minimizer_index: MIX
        genotyping.reads.fragments: _FOLD
        genotyping.reads.scored_reads: _ODD _FACTORS
    """,
    NONE: """
        calling.regions.activity: _MAX_PL
        calling.assembly.dangling_tails: _UNREACHABLE
        calling.output.reference_blocks: _NOWHERE
        calling.output.phasing: _NOT_ONE
        calling.reads.filters: _NONE
        pairhmm.reads.tandem_repeats: _NO_BASE
        longread.align.dp.fills: _NO_DIFFERENCE
        longread.align.piece_bounds: _NO_LIMIT
        longread.align.drops: _LOWEST
        longread.mappings.selection: NO_SCORE
        longread.options: UNLIMITED_SKIP
        longread.chain.scores: _NO_SCORE
        genotyping.reads.clipped_reads: _NOWHERE
        genotyping.reads.read_buffer: _LONGEST_SPAN
        shortread.cpu: ReadsPart.after
        shortread.sam.cpu: _NO_LIMIT
        shortread.sam.fields: _ALPHABET
        shortread.sam.tables: _NO_LIMIT
        shortread.search.hits: _NO_LIMIT SearchLimits.after
        pairhmm.forward.exact: _ZERO_EXPONENT
        pairhmm.reads.qualities: _NO_CAP
        pairhmm.reads.windows: _NO_CAP
    """,
    ORDER: """
        calling.output.realigned_records: _POSITION_BITS
        longread.align.ranking: _32
    """,
    ACCURACY: """
        pairhmm.forward.coefficients: _LONG_GAPS _LONG_DELETIONS _MIN_FIELD _MIN_PRODUCT
        pairhmm.forward.coefficients: _MORE_THAN_LOG2_E _LARGEST_EXPONENT
        pairhmm.forward.exact: _STEP _MIN_PROBABILITY
        pairhmm.model: FLOAT_SCALE_EXPONENT TRUSTED_GROWTH FLOAT_THRESHOLD FLOAT_LONGEST_READ
        pairhmm.model: DOUBLE_SCALE_EXPONENT DOUBLE_THRESHOLD
        realign.selection.choice: ROUNDING
    """,
    LABEL: """
        calling.assembly.graph: _BEFORE
        longread.align.dp.fills: (_ALIGNED,_PENDING,_REMAINING)
        longread.options: Difference.DS
        longread.options: Difference.NONE Difference.MD Difference.CS Difference.LONG_CS
        longread.output.tags: (_SHORT,_LONG)
        realign.align.lanes: (_INSERTION,_DELETION,_SOURCE)
        realign.scoring: Overhang.SOFTCLIP Overhang.INDEL Overhang.LEADING_INDEL Overhang.IGNORE
    """,
    UNREAD: """
        longread.align.dp.results: TARGET_END_SCORE TARGET_END_QUERY
        realign.align.ungapped: _HIGH_BITS
    """,
    GPU: """
        longread.pipeline: _GPU_BLOCK WORKERS_PER_GPU
        shortread.api: _BASES_ON_GPU
        shortread.pipeline: _GPU_BLOCK _WORKERS_PER_GPU
        genotyping.pipeline: _WORKERS_PER_GPU _LOCI_OF_GPU
        realign.pipeline: _PIECE_BYTES _MOVES_PIECE_BYTES _MIN_PIECE_BYTES
    """,
}
"""Modules below `hapgpu` and names of their constants, by the reason."""


def _by_name() -> dict[str, str]:
    found = {}
    for reason, rows in _TABLE.items():
        for row in filter(None, map(str.strip, rows.splitlines())):
            module, _, constants = row.partition(": ")
            found.update({f"hapgpu.{module}:{name}": reason for name in constants.split()})
    return found


EXPLAINED: Final = _by_name()
"""The reason of each name, as `hapgpu.shortread.api:_BASES_ON_CPU`."""


def _comparisons() -> dict[str, str]:
    files = sorted(Path(__file__).with_name("equivalent").glob("*.tsv"))
    rows = [row.split("\t") for file in files for row in file.read_text("utf-8").splitlines()]
    return {f"hapgpu.{name}": reason for name, reason in rows}


COMPARISONS: Final = _comparisons()
"""The reason of each comparison, as `hapgpu.shortread.api:_search#2:<`; a file for each method."""


def name_of(mutant: Mutant) -> str:
    """Return the name of the table of constants for a mutant."""
    return f"{mutant.module}:{mutant.name.partition('#')[0]}".replace(" ", "")


def reason_for(mutant: Mutant) -> str | None:
    """Return why a mutant may survive; None if it may not."""
    if mutant.kind == COMPARISON:
        return COMPARISONS.get(mutant.key.rpartition(":")[0])
    return EXPLAINED.get(name_of(mutant))
