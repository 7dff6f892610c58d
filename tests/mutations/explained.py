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
        calling.activity.active_regions: ROOM_BEFORE MAX_ROOM_BEFORE ROOM_AFTER
        calling.annotations.rank_sums: _STEPS
        calling.batches: REFERENCE_ROOM LEAD
        calling.pipeline: _ALIGNER
        calling.reads.segment_reader: _BATCH_BASES _MAX_BASES _MAX_ALL_BASES _SHORT
        calling.reads.segments: _MAX_BASES _MIN_BASES _SEGMENTS_PER_WORKER
        chaining.align.dp.pairs: _MIN_WIDTH _WIDTH_FRACTION _WIDTH_STEP _MAX_WIDENING _MIN_SAVING
        chaining.align.fills.cpu: MAX_DIRECTIONS MIN_LANES _FIRST_WIDTH
        chaining.align.fills.cpu: _MAX_WASTE _MIN_TOGETHER _WIDTH_FRACTION _STEP _MAX_GROWTH
        chaining.align.fills.lanes: _AMBIGUOUS_WORD
        chaining.align.rounds.steps: _FIRST_FILLS
        chaining.anchors.predecessor_ranges: BINS
        chaining.api: _ANCHORS_ON_CPU
        chaining.index.build: _MIN_BATCH _MAX_BATCH _BATCHES_PER_THREAD
        chaining.index.cpu: LOOKUPS
        chaining.index.hash_table: _MIN_PIECE _BUCKET_SIZE_BITS _MAX_BUCKET_BITS _USUAL_BITS
        chaining.join.scores_cpu: _BLOCK_BITS _BLOCK _MAX_BLOCKS _MAX_SEARCHES
        chaining.options: LARGEST_READ
        chaining.output.parts: PART_BYTES
        chaining.pipeline: _CPU_BLOCK
        chaining.scores.cpu: _BLOCK
        chaining.scores.pair_score: TILE
        chaining.seeds.cpu: _COUNTER_BITS (_MIX,_SHIFT)
        genotyping.calls.likelihoods: _NEARLY_UNDERFLOWING
        genotyping.calls.vcf_lines: _WORD_BITS
        genotyping.deep_loci: _MAX_ROWS _MAX_PAIRS
        genotyping.reads.aligned_reads: _MAX_BASES _BATCH_BASES
        genotyping.reads.locus_groups: _MAX_BATCHES _MAX_BYTES
        mapping.api: _BASES_ON_CPU _BASES_PER_READ
        mapping.index.build: _LETTERS_PER_CHECK
        mapping.index.bwt: MAX_JUMP _MIN_JUMP _JUMP_BYTES _JUMP_BYTES_PER_BASE
        mapping.index.encoding: CHUNK
        mapping.index.suffix_array: BYTES_PER_SYMBOL _FIRST_WIDTH
        mapping.run.cpu: _MAX_ROWS _MAX_HITS _MAX_PARTS _MAX_TEXT
        mapping.pipeline: _CPU_BLOCK
        mapping.search.cpu: _READS_PER_STEP _CANDIDATES_PER_STEP
        mapping.search.packed_reads: _UPPER_CASE _A _T_FROM_E
        mapping.search.seeds: _FEW_ROWS _SOME_ROWS _MANY_STEPS
        pairhmm.api: _CELLS_PER_CALL _BYTES_PER_CALL _BYTES_PER_BASE _BYTES_PER_PAIR
        pairhmm.forward.coefficients: _LONG_GAPS _SMALL_PRODUCT
        pairhmm.forward.cpu: _LENGTH_BIN _SLICES _MIN_READS _MAX_BYTES _PAIR_BYTES _BASE_BYTES
        pairhmm.qualities.tandem_repeats: _FULL
        pairhmm.reads.cpu: _CELLS_PER_BATCH _BASES_PER_BATCH _LIKELIHOODS_PER_BATCH
        pairhmm.text_batches.reader: _PIECE_BYTES _MIN_PIECES _SMALL_PIECE
        realign.align.cpu: LANES SEARCHED WORKSPACE_BYTES
        realign.align.cpu: _INT16_SCORES
        realign.moves.move_table: _MOVES_IN_MEMORY
        realign.projection.haplotype_cigars: _MAX_MISMATCHES _MIN_DIAGONAL
        realign.projection.placement: _HAPLOTYPES_PER_BATCH
        realign.pipeline: _PAIRS_PER_BATCH _BATCH_BASES _MAX_REWRITING_THREADS
    """,
    ROOM: """
        calling.annotations.rank_sums: _MAX_EXACT
        calling.assembly.assembler: _ROWS _TEXT
        calling.assembly.haplotypes: _PATHS _TEXT
        calling.assembly.sequence_graph.simplification: _SPARE
        calling.gvcf.blocks: COLUMNS
        calling.gvcf.lines: _INTEGER_WIDTH
        calling.output.lines: _INTEGER_WIDTH
        chaining.align.start: _PADDING
        chaining.align.dp.local: _ROWS
        chaining.align.dp.results: MARGIN _LANE_ROWS _COLUMNS
        chaining.align.pieces.bounds: CUT_COLUMNS
        chaining.index.hash_table: _DIGITS
        chaining.mappings.selection: COLUMNS
        chaining.output.alignments.rows: _FIXED_TEXT _SUPPLEMENTARY_TEXT _BASE _OPERATION
        chaining.output.paf: _FIXED_TEXT
        chaining.sketch.kmers: _RUNS
        chaining.sort.cpu: _MAX_PENDING
        genotyping.calls.vcf_lines: _FIELDS _INT16_WIDTH _INT32_WIDTH _INT64_WIDTH
        genotyping.evidence.scored_reads: _DIGEST
        mapping.sam.cpu: _FIXED_TEXT
        mapping.search.cpu: _MIN_HELD
        mapping.search.seeds: COLUMNS
        pairhmm.forward.coefficients: FIELDS
        pairhmm.forward.lanes: _STATES
        pairhmm.reads.tables: _READ_TEXT _VALUE_TEXT
        pairhmm.text_batches.parser: _SHOWN_BYTES
        pairhmm.text_batches.tables: _INDEX_WIDTH
        realign.moves.move_table: _ALIGNMENT
        realign.projection.project: _HAPLOTYPE_OVERHANG
        realign.records.fields: MAX_INTEGER_FIELD MAX_ELEMENT_TEXT _LETTERS
        realign.rewriting.changed_records: _MAX_INTEGER_TEXT
    """,
    PROGRESS: """
        chaining.index.build: (_READ,_SKETCHED,_SORTED,_TABLE)
        mapping.index.build: (_READ,_ENCODED,_SORTED,_TRANSFORMED,_JUMPS,_POSITIONS)
    """,
    HASH: """
        calling.assembly.kmer_graphs.kmers: _FACTOR _HIGH
        calling.reads.windows: _FACTORS
        chaining.index.minimizer_index: MIX
        genotyping.evidence.fragments: _FOLD
        genotyping.evidence.scored_reads: _ODD _FACTORS
    """,
    NONE: """
        calling.activity.pileup: _MAX_PL
        calling.assembly.kmer_graphs.dangling_tails: _UNREACHABLE
        calling.gvcf.blocks: _NOWHERE
        calling.gvcf.phasing: _NOT_ONE
        calling.reads.filters: _NONE
        chaining.align.fills.cpu: _NO_DIFFERENCE
        chaining.align.pieces.bounds: _NO_LIMIT
        chaining.align.rounds.drops: _LOWEST
        chaining.mappings.selection: NO_SCORE
        chaining.options: UNLIMITED_SKIP
        chaining.scores.cpu: _NO_SCORE
        genotyping.evidence.clipped_reads: _NOWHERE
        genotyping.reads.read_buffer: _LONGEST_SPAN
        mapping.run.cpu: ReadsPart.after
        mapping.sam.fields: _ALPHABET
        mapping.sam.tables: _NO_LIMIT
        mapping.search.hits: _NO_LIMIT SearchLimits.after
        pairhmm.forward.exact: _ZERO_EXPONENT
        pairhmm.qualities.prepare: _NO_CAP
        pairhmm.qualities.windows: _NO_CAP
    """,
    ORDER: """
        calling.output.realigned_records: _POSITION_BITS
        chaining.align.ranking.cpu: _32
    """,
    ACCURACY: """
        pairhmm.forward.exact: _STEP _MIN_PROBABILITY
        pairhmm.model: FLOAT_SCALE TRUSTED_GROWTH FLOAT_THRESHOLD FLOAT_LONGEST_READ DOUBLE
        realign.selection.choice: ROUNDING
    """,
    LABEL: """
        calling.assembly.graph: _BEFORE
        chaining.align.fills.cpu: (_ALIGNED,_PENDING,_REMAINING)
        chaining.options: Difference.DS
        chaining.options: Difference.NONE Difference.MD Difference.CS Difference.LONG_CS
        chaining.output.alignments.tags: (_SHORT,_LONG)
        realign.align.lanes: (_INSERTION,_DELETION,_SOURCE)
        realign.scoring: Overhang.SOFTCLIP Overhang.INDEL Overhang.LEADING_INDEL Overhang.IGNORE
    """,
    UNREAD: """
        calling.gvcf.lines: _DECIMALS
        chaining.align.dp.results: TARGET_END_SCORE TARGET_END_QUERY
        pairhmm.qualities.tandem_repeats: _BYTE_NUMBERS
        realign.align.ungapped: _HIGH_BITS
    """,
    GPU: """
        chaining.pipeline: _GPU_BLOCK _WORKERS_PER_GPU
        mapping.api: _BASES_ON_GPU
        mapping.pipeline: _GPU_BLOCK _WORKERS_PER_GPU
        genotyping.pipeline: _WORKERS_PER_GPU _LOCI_OF_GPU
        realign.align.layouts: WARP_LANES MAX_THREADS_PER_BLOCK ROWS_PER_WORD _CELL_COST _ROW_COST
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
"""The reason of each name, as `hapgpu.mapping.api:_BASES_ON_CPU`."""


def _comparisons() -> dict[str, str]:
    files = sorted(Path(__file__).with_name("equivalent").glob("*.tsv"))
    rows = [row.split("\t") for file in files for row in file.read_text("utf-8").splitlines()]
    return {f"hapgpu.{name}": reason for name, reason in rows}


COMPARISONS: Final = _comparisons()
"""The reason of each comparison, as `hapgpu.mapping.api:_search#2:<`; a file for each method."""


def name_of(mutant: Mutant) -> str:
    """Return the name of the table of constants for a mutant."""
    return f"{mutant.module}:{mutant.name.partition('#')[0]}".replace(" ", "")


def reason_for(mutant: Mutant) -> str | None:
    """Return why a mutant may survive; None if it may not."""
    if mutant.kind == COMPARISON:
        return COMPARISONS.get(mutant.key.rpartition(":")[0])
    return EXPLAINED.get(name_of(mutant))
