"""Inputs and options that `hapgpu bench` refuses."""

from __future__ import annotations

from typing import Final

from tests.faults.table.messages import NO_FILE
from tests.faults.table.row import line

_OF_ANOTHER: Final = (
    "realign --batches",
    "realign --preset",
    "io --batches",
    "io --method",
    "io --scaling",
    "map --batches",
    "map --bases",
    "pairhmm --reference",
    "genotype --reads",
    "genotype --anchors",
    "call --reads",
)
"""Methods with an option that only other methods have."""

_REFUSED: Final = (
    ("bwa", "bwa: no such command; run: hapgpu bench --help"),
    ("pairhmm --copies 3", "--copies: no effect without --batches or --scaling; add one of them"),
    ("realign --copies 3", "--copies: no effect without --scaling; add it"),
    ("realign --scaling --method hapgpu", "--method: no effect with --scaling; drop one of them"),
    ("realign --method gasal2", "--method 'gasal2': must be one of hapgpu, ren2019"),
    (
        "map --reference x.fa --copies 3",
        "--copies: no effect without --reads or --scaling; add one of them",
    ),
    ("map --scaling --method fm", "--method: no effect with --scaling; drop one of them"),
    ("chain --anchors x.npz --scaling", "--scaling: no effect with --anchors"),
    ("pairhmm --batches x.in --copies 0", "--copies"),
    ("map --reads good.fq", "--reads: ... add --reference FASTA"),
    ("map --method bwa", "--method"),
    ("map --method successor", "--method 'successor': must be one of fm, backtracking"),
    ("genotype", "--reference: missing"),
    ("call", "--reference: missing"),
    ("call --reference x.fa --region one:1-9", "--region: no effect without --bam; add it"),
    (
        "call --reference small.fa --bam reads.bam",
        "--bam: needs a region; add --region CHR:START-END",
    ),
    ("chain", "--reference, --anchors: both or neither"),
    (
        "chain --reference small.fa --anchors anchors.npz",
        "--anchors: both or neither; give one of them",
    ),
    ("chain --anchors x.npz --error 0.1", "--error: no effect with --anchors"),
    ("chain --reference x.fa --copies 2", "--copies: no effect with --reference"),
    ("chain --reference x.fa --method successor", "--method: no effect with --reference"),
    (
        "chain --anchors anchors.npz --method fm",
        "--method 'fm': must be one of predecessor, successor",
    ),
    ("chain --reference small.fa --read-length 99", "--read-length 99: must be at least 100"),
    ("chain --reference small.fa -x splice", "-x splice"),
)
_MISSING: Final = (
    *("pairhmm --batches", "genotype --reference", "call --reference", "map --reference"),
    *("chain --reference", "chain --anchors"),
    "call --reference small.fa --region one:1-9 --bam",
)
"""Options that name a file."""
_AFTER_HEADER: Final = (
    ("no_gpu", "chain --anchors anchors.npz --method successor", 2, "needs a GPU"),
    ("stale_index", "map --reference stale.fa --reads good.fq", 1, "does not match stale.fa"),
    (
        "contig_missing",
        "call --bam reads.bam --reference other_contig.fa --region chr20:2001-3000",
        1,
        "other_contig.fa: no contig 'chr20'",
    ),
    (
        "no_read_in_region",
        "call --bam reads.bam --reference reference.fa --region chr20:1-1",
        1,
        "reads.bam: no read within chr20:1-1; give another region",
    ),
    ("short_contigs", "map --reference tiny.fa", 1, "no contig has 100 bases in a row"),
)

ROWS: Final = [
    *(
        line(words, f"bench {words} 1", 2, f"{words.partition(' ')[2]}: no such option")
        for words in _OF_ANOTHER
    ),
    *(line(words, f"bench {words}", 2, message) for words, message in _REFUSED),
    *(line("missing", f"bench {words} none.in", 1, f"^none.in: {NO_FILE}$") for words in _MISSING),
    *(
        line(name, f"bench {words}", status, message, header=True)
        for name, words, status, message in _AFTER_HEADER
    ),
]
