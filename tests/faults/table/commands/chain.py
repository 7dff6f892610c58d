"""Inputs and options that `hapgpu chain` refuses."""

from __future__ import annotations

from typing import Final

from tests.faults.table.messages import NO_FILE
from tests.faults.table.row import line, row, values

_WITH_ANCHORS = "--anchors: ... drop the reference, reads and --paf"
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
)

ROWS: Final = [
    *(values(option, "chain", given) for option, given in _VALUES),
    *(
        row(f"preset {name}", "chain", f"-x {name}", 2, f"-x {name}: ... use minimap2")
        for name in ("asm5", "splice", "sr", "ava-ont", "nonsense")
    ),
    row("all but secondary", "chain", "-P --secondary=no", 2, "-P: contradicts --secondary=no"),
    row("all but any", "chain", "-P -N 0", 2, "-N 0"),
    row("bandwidths", "chain", "-r 30k", 2, "-r 30000,20000"),
    row("wide", "chain", "-r 1k,1m", 2, "-r 1000,1000000: must be at most 200,000"),
    # Anchors.
    line("reads", "chain reference.fa good.fq --anchors anchors.npz", 2, _WITH_ANCHORS),
    row("paf", "chain_anchors", "--paf", 2, _WITH_ANCHORS),
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
