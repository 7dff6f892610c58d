"""Inputs that `hapgpu map` refuses, and `hapgpu chain` of the same reads."""

from __future__ import annotations

from typing import Final

from tests.faults.made.odd_files import READS
from tests.faults.table.messages import MAKE_INDEX, MAKE_MINIMIZERS, NO_FILE, RECORD_51
from tests.faults.table.row import row, values

_ALL = "map map_index chain chain_sam chain_cigar"

ROWS: Final = [
    # Reads.
    *(
        row(name, _ALL, f"reads=good.fq {name}.fq", 1, f"{name}.fq ... {RECORD_51}")
        for name in READS
    ),
    row("digit", "chain chain_sam", "reads=good.fq digit.fq", 1, f"digit.fq ... {RECORD_51}"),
    row("late", _ALL, "reads=good.fq late.fq", 1, "late.fq ... record 60001"),
    row("cut_bgzip", _ALL, "reads=cut.fq.bgz", 1, "cut.fq.bgz ... truncated"),
    # Indexes.
    row("stale_index", "map", "reference=stale.fa", 1, f"stale.fa.hgx ... {MAKE_INDEX} stale.fa"),
    row(
        "stale_index",
        "chain chain_sam",
        "reference=stale.fa",
        1,
        f"stale.fa.k15w10.hgm ... {MAKE_MINIMIZERS} stale.fa",
    ),
    row(
        "foreign_index",
        "chain chain_sam",
        "reference=foreign.fa",
        1,
        f"foreign.fa ... {MAKE_MINIMIZERS} foreign.fa",
    ),
    row("no_index", "map_index", "reference=absent.hgx", 1, f"absent.hgx: {NO_FILE}"),
    row(
        "index_for_cram",
        "map_index",
        "output=out.cram",
        2,
        "kept.hgx: is an index, but CRAM needs the reference; give the FASTA file",
    ),
    # Read groups.
    row("rg_without_id", "chain_sam", r"-R '@RG\tSM:a'", 2, "ID:"),
    row("no_rg", "chain_sam", "-R run1", 2, "'run1' ... @RG"),
    row("rg_without_id", "map*", r"-R '@RG\tSM:a'", 2, "ID:"),
    row("no_rg", "map*", "-R run1", 2, "'run1' ... @RG"),
    row("field_of_rg", "map*", r"-R '@RG\tID:a\tb'", 2, "'b'"),
    row("field_of_rg_twice", "map*", r"-R '@RG\tID:a\tID:b'", 2, "occurs twice"),
    # Options.
    values("--errors", "map", ["2", "-1"]),
    values("--max-hits", "map", ["0"]),
    row("no_indels", "map", "--errors 0 --no-indels", 2, "^--no-indels: no effect with --errors 0"),
    row("best", "map", "--best --errors 0", 2, "^--best: no effect with --errors 0; drop it$"),
]
