"""What `hapgpu bench` refuses."""

from __future__ import annotations

from typing import Final

from tests.faults.table.messages import NO_FILE
from tests.faults.table.row import line

_FILES_ONLY = "--copies repeats what a file holds"
_FOR_PAIRHMM = "--batches is for bench pairhmm, not for bench "
_REFUSED: Final = (
    ("realign --batches x.in", f"{_FOR_PAIRHMM}realign"),
    ("io --batches x.in", f"{_FOR_PAIRHMM}io"),
    ("map --batches x.in", f"{_FOR_PAIRHMM}map"),
    ("pairhmm --copies 3", _FILES_ONLY),
    ("map --reference x.fa --copies 3", _FILES_ONLY),
    ("pairhmm --batches x.in --copies 0", "--copies"),
    ("pairhmm --reference x.fa", "is for bench map or chain or genotype, not for"),
    ("io --method fm", "--method is for bench map or chain, not for bench io"),
    ("map --reads x.fq", "give it with --reference FASTA"),
    ("map --method bwa", "--method"),
    ("map --method successor", "--method for bench map is fm or backtracking"),
    ("map --bases 1m", "--bases is for bench chain, not for bench map"),
    ("realign -x map-ont", "--preset is for bench chain, not for bench realign"),
    ("genotype", "bench genotype simulates a sample: give --reference FASTA"),
    ("genotype --reads x.fq", "--reads is for bench map, not for bench genotype"),
    ("chain", "measures --reference FASTA or --anchors FILE.npz"),
    ("chain --reference x.fa --anchors x.npz", "FASTA or --anchors FILE.npz"),
    ("chain --anchors x.npz --error 0.1", "--error is for reads"),
    ("chain --reference x.fa --method successor", "give --anchors"),
    ("chain --anchors x.npz --method fm", "is predecessor or successor"),
    ("chain --reference x.fa --read-length 99", "at least 100 bases"),
    ("chain --reference x.fa -x splice", "-x splice"),
)
_AFTER_HEADER: Final = (
    ("no_gpu", "chain --anchors x.npz --method successor", 2, "needs a GPU"),
    ("missing", "pairhmm --batches none.in", 1, f"none.in: {NO_FILE}"),
    ("missing", "genotype --reference none.in", 1, f"none.in: {NO_FILE}"),
    ("missing", "chain --reference none.in", 1, "none.in: ... o such file"),
    ("missing", "chain --anchors none.in", 1, "none.in: ... o such file"),
    ("stale_index", "map --reference stale.fa --reads good.fq", 1, "does not match stale.fa"),
    ("short_contigs", "map --reference tiny.fa", 1, "no contig has 100 bases in a row"),
)

ROWS: Final = [
    *(line(words, f"bench {words}", 2, message) for words, message in _REFUSED),
    *(
        line(name, f"bench {words}", status, message, header=True)
        for name, words, status, message in _AFTER_HEADER
    ),
]
