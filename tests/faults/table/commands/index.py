"""Inputs that `hapgpu index` refuses, and `map` and `chain` of the same references."""

from __future__ import annotations

from typing import Final

from tests.faults.table.messages import NO_FILE, UNKNOWN_KIND
from tests.faults.table.row import row

_INDEX = "index index_minimizers"
_ALL = f"{_INDEX} map chain"
_MINIMIZERS = "no effect without --minimizers"
_OTHER = "no effect with --minimizers"

ROWS: Final = [
    row("empty", _INDEX, "reference=empty.fa", 1, "^empty.fa"),
    row("no_header", _INDEX, "reference=no_header.fa", 1, f"^no_header.fa: {UNKNOWN_KIND} FASTA"),
    row("no_name", _INDEX, "reference=no_name.fa", 1, "^no_name.fa ... name"),
    row("no_sequence", "index", "reference=no_sequence.fa", 1, "^no_sequence.fa ... one"),
    row("name_twice", _ALL, "reference=twice.fa", 1, "^twice.fa ... 'one'"),
    row("no_letter", _ALL, "reference=star.fa", 1, "^star.fa ... '*'"),
    row("cut_gzip", _INDEX, "reference=cut.fa.gz", 1, "^cut.fa.gz: truncated"),
    row(
        "name_that_sam_refuses", "index", "reference=comma.fa", 1, "^comma.fa ... 'a,b' ... rename"
    ),
    row("absent", "index_minimizers", "reference=absent.fa", 1, f"absent.fa: {NO_FILE}"),
    *(
        row("of_minimizers", "index", change, 2, f"{options}: {_MINIMIZERS}")
        for change, options in (
            ("-x map-ont", "--preset"),
            ("-k 15 -H", "-k -H"),
            ("-w 10", "-w"),
        )
    ),
    row("not_of_minimizers", "index_minimizers", "--low-memory", 2, f"--low-memory: {_OTHER}"),
    row("preset", "index_minimizers", "-x sr", 2, "-x sr: "),
    row("k", "index_minimizers", "-k 29", 2, "-k: must be a whole number from 1 to 28"),
]
