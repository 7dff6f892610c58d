"""The texts of the corpus: alignments, reads, haplotypes, variants, regions and batches."""

from __future__ import annotations

from typing import Final

BEDS: Final = [
    "chr1\t100\t200\nchr1\t150\t300\tname\t0\t+\n",
    'browser x\ntrack name="a"\n#c\nchr1 0 50\n\nchr2\t3\t9\r\n',
]
REGIONS: Final = [
    "chr1:100-200\nchr1\nchr2:5\n",
    "chr1:1,00-3,00\n{HLA:1}:5-30\n{chr1}\nchr1:-50\n",
]
INTERVALS: Final = ["chr1:100-200\nchr1\n\nchr2:5\n", " chr1:1,00+\r\nHLA:1:5-30\nUnmapped\nHLA:1"]
INTERVAL_LISTS: Final = [
    "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:600\nchr1\t5\t90\t+\ta\nchr1\t91\t100\t-\tb c\n",
    "@SQ\tM5:x\tLN:40\tSN:HLA:1\r\n@CO\tx\r\nHLA:1\t1\t40\t+\t.\r\n\r\n",
]
BATCHES: Final = [
    """2 2
ACGTACGTAC IIIIIIIIII IIIIIIIIII IIIIIIIIII ++++++++++
ACGNA !!!!~ IIIII IIIII +++++
ACGTACGTAC
ACGTTACGTACC
1 1
A I I I +
ACGT
""",
    "1 2 \r\nACGTA\tIIIII  55555 IIIII 11111\r\nA\r\nACGTA\n\n0 1\nA\n1 0\nA A A A A\n",
]
PAFS: Final = [
    (
        "r1\t100\t2\t98\t+\tchr1\t500\t10\t108\t80\t98\t60\ttp:A:P\tcm:i:9\ts1:i:70\tdv:f:0.01\n"
        "r1\t100\t2\t50\t-\tchr2\t170\t10\t60\t40\t50\t0\ttp:A:S\tdv:f:0.1\trl:i:0\n"
        "r2\t40\t0\t40\t-\tHLA:1\t40\t0\t40\t40\t40\t255\tNM:i:0\tde:f:0\n"
        "r3\t30\t0\t0\t*\t*\t0\t0\t0\t0\t0\t0\n"
    ),
    "a\t9\t0\t9\t+\tb\t9\t0\t9\t9\t9\t3\r\n",
]
LIKELIHOODS: Final = [
    (
        "read\tmate\tlocus\thaplotype\tlog10_likelihood\nr\t1\tchr1:1-9\ta\t-0.5\n"
        "r\t1\tchr1:1-9\tb\t-12.25\ns\t*\tchr1:1-9\ta\t-1e-05\n"
    ),
    "read\tmate\ta\tb\nr\t1\t-0.5\t-3\ns\t2\tNA\t-1\n",
    "batch\tread\thaplotype\tlog10_likelihood\n1\t1\t1\t-0.5\n1\t1\t2\t-7\n",
    "1 2\n-0.5 -7.25\n2 1\n-1\n-2\n",
]
STATISTICS: Final = [
    """{"schema_version": 2, "tool": "hapgpu", "version": "0.1.0", "command": "map",
"command_line": ["hapgpu", "map"], "devices": ["CPU, 1 thread"], "threads": 1,
"counts": {"reads": 60, "mapped": 50},
"seconds": {"read": 0.5, "map": 1.25, "total": 1.5}, "stage_threads": {"read": 1, "map": 2}}
""",
    '[{"device": "CPU", "task": "kernel", "reads": 5, "seconds": 0.5, "bound": null}]',
]
_HEADER: Final = (
    "@HD\tVN:1.6\tSO:coordinate",
    "@RG\tID:g\tSM:s",
    "@RG\tID:h\tSM:t",
    "@CO\tx: y",
)


def haplotypes(contigs: dict[str, str]) -> dict[str, str]:
    """Return FASTA of haplotypes with loci, in both ways to write them, and without."""
    bases = contigs["chr1"]
    first, second = bases[100:200], bases[220:300]
    other = contigs["chr2"][70:140]
    return {
        "loci": (
            f">a chr1:101-200\n{first}\n>b chr1:101-200 x\n{first[:40]}ACG{first[41:]}\n"
            f">c chr1:221-300\n{second[:30]}{second[33:]}\n>d::chr2:70-140\n{other}\n"
        ),
        "alleles": f">a\n{first}\n>b some text\n{first[:50]}TT{first[50:]}\n",
    }


def fastq(contigs: dict[str, str], reads: int) -> str:
    """Return reads of the first contig, the last of them short."""
    bases = contigs["chr1"]
    texts = [bases[70 * k : 70 * k + 60 + 20 * k] for k in range(reads - 1)] + [bases[:12]]
    return "".join(
        f"@r{number}/1 comment\n{text}\n+\n{'I' * (len(text) - 2)}#!\n"
        for number, text in enumerate(texts)
    )


def sam(contigs: dict[str, str], reads: int) -> str:
    """Return sorted alignments: pairs, gaps, clips, tags of all types, unmapped reads."""
    bases = contigs["chr1"]
    lines = [_HEADER[0], *(f"@SQ\tSN:{name}\tLN:{len(text)}" for name, text in contigs.items())]
    lines += _HEADER[1:]
    whole = bases[100:160]
    kinds = [
        (99, 101, "60M", whole, "=\t181\t140", "RG:Z:g\tNM:i:0\tMD:Z:60\tXA:A:c"),
        (0, 111, "5S20M2D30M5S", bases[106:131] + bases[133:168], "*\t0\t0", "RG:Z:h\tXB:B:c,-1,2"),
        (
            16,
            121,
            "20M3I37M",
            bases[120:140] + "ACG" + bases[140:177],
            "*\t0\t0",
            f"RG:Z:h\tBI:Z:{'I' * 60}",
        ),
        (0, 131, "10=1X9=3H", bases[130:150], "*\t0\t0", "RG:Z:g\tXF:f:1.5\tSA:Z:chr2,5,+,9M,9,0;"),
        (147, 181, "60M", bases[180:240], "=\t101\t-140", "RG:Z:g\tXH:H:1AFF\tXI:B:I,1,4000000000"),
        (
            1024,
            191,
            "10M100N10M",
            bases[190:200] + bases[300:310],
            "*\t0\t0",
            "RG:Z:g\tOC:Z:20M\tOP:i:7",
        ),
        (69, 191, "*", bases[:20], "=\t191\t0", "RG:Z:h\tMC:Z:60M"),
        (4, 0, "*", "ACGTRYKM", "*\t0\t0", "XZ:Z:"),
    ]
    for number, (flag, position, cigar, text, mate, tags) in enumerate(kinds[:reads]):
        contig = "chr1" if position else "*"
        own = (cigar, mate, text, "I" * len(text), tags)
        fields = (f"r{number % 4}", flag, contig, position, 60, *own)
        lines.append("\t".join(map(str, fields)))
    return "\n".join([*lines, ""])


def vcf(contigs: dict[str, str], samples: int) -> str:
    """Return sites of all kinds, with the genotypes of some samples."""
    bases = contigs["chr1"]
    names = ["FORMAT", *(f"s{number}" for number in range(samples))] if samples else []
    columns = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", *names]
    fields = (
        '##INFO=<ID=AF,Number=A,Type=Float,Description="x">',
        '##INFO=<ID=AC,Number=A,Type=Integer,Description="x">',
        '##INFO=<ID=AN,Number=1,Type=Integer,Description="x">',
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="x">',
        '##FORMAT=<ID=PS,Number=1,Type=Integer,Description="x">',
    )
    declared = [f"##contig=<ID={name},length={len(text)}>" for name, text in contigs.items()]
    lines = ["##fileformat=VCFv4.2", '##FILTER=<ID=q9,Description="x">', *declared, *fields]
    lines.append("\t".join(columns))
    genotypes = ["0|1:5", "1/1", ".", "0/1"]
    other = {"A": "C", "C": "G", "G": "T", "T": "A"}
    sites = [
        (120, bases[119], other[bases[119]], "AF=0.25"),
        (131, bases[130:133], bases[130], "AC=3;AN=10"),
        (141, bases[140], f"{bases[140]}TT,<DEL>", "."),
        (141, bases[140], "*", "AF=."),
        (240, bases[239:241], ".", "."),
    ]
    for number, (position, reference, alternatives, info) in enumerate(sites):
        own = [genotypes[(number + k) % 4] for k in range(samples)]
        called = ["GT:PS", *own] if samples else []
        record = ["chr1", position, f"v{number}", reference, alternatives, 30.5, "PASS", info]
        lines.append("\t".join(map(str, [*record, *called])))
    return "\n".join([*lines, ""])
