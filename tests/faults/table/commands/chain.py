"""Inputs and options that `hapgpu chain` refuses."""

from __future__ import annotations

from typing import Final

from tests.faults.table.messages import NO_FILE
from tests.faults.table.row import line, row, values

_WITH_ANCHORS = "no effect with --anchors; drop one of them"
_PAF = "no effect in PAF; add -a$"
_UNALIGNED = "no effect without base alignment; add -c, -a or --cs"
_ALIGNED = "chain_sam chain_cigar"
_NO_BASES = "looks like the index of hapgpu chain; give FASTA"
_VALUES: Final = (
    ("-k", ["0", "29", "x"]),
    ("-w", ["0", "256"]),
    ("-f", ["-1", "nan", "x", "100,1000"]),
    ("-U", ["x", "1,", "1,2,3", "-1", "3g"]),
    ("-e", ["-1", "x"]),
    ("--q-occ-frac", ["-0.5", "1.1", "nan"]),
    ("-g", ["-5", "5kk", "5g", "1e400", ".", "", "5 k", "inf"]),
    ("-r", ["x", ",", "1,x"]),
    ("-n", ["-1", "3000m"]),
    ("-m", ["-1"]),
    ("-N", ["-1", "99999999999"]),
    ("--max-chain-skip", ["infinity", "-1"]),
    ("--max-chain-iter", ["-1"]),
    ("-M", ["-1", "2"]),
    ("-p", ["-1", "1.5", "nan"]),
    ("--secondary", ["maybe"]),
    ("-A", ["-1", "x", "128"]),
    ("-B", ["-1", "0", "13"]),
    ("-b", ["-1", "13"]),
    ("-E", ["0", "x", "2,0", "1,2,3"]),
    ("-z", ["-1", "100,200"]),
    ("-s", ["-1"]),
    ("--score-N", ["-1", "4"]),
    ("--end-bonus", ["-1"]),
    ("--min-dp-len", ["-1"]),
    ("--cap-sw-mem", ["-1", "x", "1e300"]),
)

_ALIGNMENT: Final = (
    *("-A 2", "-B 4", "-b 4", "-O 4,24", "-E 2,1", "-z 400,200", "-s 80", "--score-N 1"),
    *("--end-bonus 10", "--cap-sw-mem 1m", "--min-dp-len 200", "--no-end-flt"),
)
"""Options on base alignment, given explicitly, also with their defaults."""

ROWS: Final = [
    *(values(option, "chain", given) for option, given in _VALUES),
    *(
        row(f"preset {name}", "chain", f"-x {name}", 2, f"-x {name}: ... use minimap2")
        for name in ("asm5", "splice", "sr", "ava-ont", "nonsense")
    ),
    row("all but secondary", "chain", "-P --secondary=no", 2, "-P: contradicts --secondary=no"),
    row("all but any", "chain", "-P -N 0", 2, "-N: no effect with -P"),
    row("bandwidths", "chain", "-r 30k", 2, "-r 30000,20000"),
    row("wide", "chain", "-r 1k,1m", 2, "-r 1000,1000000: must be at most 200,000"),
    # Base alignment: scores.
    row("ambiguous", _ALIGNED, "--score-N 4", 2, "--score-N 4: must be less than -B 4; reduce it"),
    row("match", _ALIGNED, "-A 122", 2, "-A 122: must be from 1 to 121 with -O 4,24 -E 2,1"),
    row("match", _ALIGNED, "-A 116 -O 4 -E 2", 2, "-A 116: must be from 1 to 115 with -O 4,4"),
    row("no match", _ALIGNED, "-A 0", 2, "-A 0: must be from 1 to 121"),
    row("mismatch", _ALIGNED, "-B 13", 2, "-B 13: must be at most 12, twice the cost of a gap"),
    row("mismatch", _ALIGNED, "-B 200 -O 90 -E 10", 2, "their sum must be at most 127"),
    row("transition", _ALIGNED, "-b 13", 2, "-b 13: must be at most 12, twice the cost of a gap"),
    row("no cost", _ALIGNED, "-O 0,24", 2, "-O 0,24 -E 2,1: gap costs must be at least 1"),
    row("order", _ALIGNED, "-O 24,4 -E 1,2", 2, "-O 24,4 -E 1,2: the second costs ... swap them"),
    row("one of two", _ALIGNED, "-O 4", 2, "-O 4,4 -E 2,1: the second costs ... swap them"),
    row("sum", _ALIGNED, "-O 60,70", 2, "-O 60,70 -E 2,1: their sum must be at most 127"),
    row("large drop", _ALIGNED, "-z 2000m,0", 2, "-z 2000000000: must be at most"),
    row("bonus", _ALIGNED, "--end-bonus 2000m", 2, "--end-bonus 2000000000: must be at most"),
    row("drops", _ALIGNED, "-z 100,200", 2, "-z 100,200: the second number is larger; reduce it"),
    # Base alignment: formats.
    *(
        row(f"-O {value}", "chain chain_sam", f"-O {value}", 2, f"-O {value}: unknown; give gap")
        for value in ("vcf", "paf", "x", "1,2,3")
    ),
    values("--output-fmt", "chain_sam", ["vcf", "paf"]),
    row("two formats", "chain_sam", "--paf", 2, "--paf: contradicts -a and the formats of SAM"),
    row("two formats", "chain_cigar", "--paf -O bam", 2, "--paf: contradicts -a"),
    *(
        row(f"{option} of PAF", "chain chain_cigar", option, 2, f"^{option}: {_PAF}")
        for option in ("-L", "-Y", "--sam-hit-only", "--secondary-seq", "--no-PG")
    ),
    row("-R of PAF", "chain chain_cigar", r"-R '@RG\tID:a'", 2, f"^--read-group: {_PAF}"),
    *(
        row(f"{option} alone", "chain", option, 2, f"^{option.split()[0]}: {_UNALIGNED}$")
        for option in ("--MD", "--ds", "--eqx", "-y", *_ALIGNMENT)
    ),
    row("two_alone", "chain", "--MD -A 2 --paf", 2, f"^-A --MD: {_UNALIGNED}$"),
    row("unmapped", "chain_sam", "--paf-no-hit", 2, "^--paf-no-hit: no effect in SAM; drop it$"),
    *(
        row(
            "no_secondary",
            "chain_sam",
            f"--secondary-seq {option}",
            2,
            "^--secondary-seq: no effect with --secondary=no or -N 0; drop one of them$",
        )
        for option in ("--secondary=no", "-N 0")
    ),
    row("cs_and_MD", _ALIGNED, "--cs --MD", 2, "^--cs: no effect with --MD or --ds; drop one"),
    row("ds_and_MD", "chain_sam", "--ds --MD", 2, "^--ds: no effect with --MD; drop one"),
    # Options on mappings.
    *(
        row("all_mappings", "chain", f"-P {option}", 2, f"^{option[:2]}: no effect with -P; drop")
        for option in ("-M 0.2", "-p 0.1", "-N 50")
    ),
    row("all_secondary", "chain", "-p 0 -N 50", 2, "^-N: no effect with -p 0; drop one of them$"),
    row("cutoff", "chain", "-f 100 -U 5,20", 2, "^-U: no effect with -f INT; drop one of them$"),
    # Base alignment: references.
    row("an index", _ALIGNED, "reference=kept.hgm", 1, f"kept.hgm: {_NO_BASES}"),
    # Anchors.
    line("reads", "chain reference.fa good.fq --anchors anchors.npz", 2, _WITH_ANCHORS),
    row("paf", "chain_anchors", "--paf", 2, _WITH_ANCHORS),
    row("sam", "chain_anchors", "-a", 2, _WITH_ANCHORS),
    row("cigar", "chain_anchors", "-c", 2, _WITH_ANCHORS),
    row("window", "chain_anchors", "-k 15 -w 10", 2, f"^-w: {_WITH_ANCHORS}$"),
    row("mappings", "chain_anchors", "-N 5 -M 0.2 -y", 2, f"^-M -N -y: {_WITH_ANCHORS}$"),
    row("absent", "chain_anchors", "anchors=absent.npz", 1, NO_FILE),
    row("empty", "chain_anchors", "anchors=empty.npz", 1, "empty.npz: "),
    row("text", "chain_anchors", "anchors=text.npz", 1, "text.npz: "),
    row("pickle", "chain_anchors", "anchors=pickle.npz", 1, "pickle.npz: "),
    row("no_array", "chain_anchors", "anchors=no_offsets.npz", 1, "no array 'offsets'"),
    row("offsets", "chain_anchors", "anchors=offsets.npz", 1, "do not go from 0 to 100"),
    row("order", "chain_anchors", "anchors=order.npz", 1, "smaller x"),
    row("span", "chain_anchors", "anchors=span.npz", 1, "no span"),
    row("object", "chain_anchors", "anchors=object.npz", 1, "damaged or no .npz file"),
]
