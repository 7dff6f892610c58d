"""Calls of `hapgpu call`, bcftools and freebayes on real reads, against truth sets.

    python -m tests.calling.accuracy.truth_comparison --sample HG002 --keep /tmp/hg002 --list

Options unknown to this script are passed to `hapgpu call`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.realign.caller_comparison import (
    CALLERS,
    HAPGPU,
    KINDS,
    SAMPLES,
    Allele,
    Prepared,
    call,
    copies_of_alleles,
    inputs_of,
    is_within,
    kind_of,
    prepare,
    scores_of,
)

NAMES = ("hapgpu", *CALLERS)


def calls_of_hapgpu(prepared: Prepared, options: Sequence[str] = ()) -> Path:
    """Run `hapgpu call` on the region; return its VCF."""
    inputs, out = prepared.inputs, prepared.directory / "hapgpu.vcf.gz"
    files = [str(inputs.reads), str(inputs.reference), "-r", inputs.region, "-o", str(out)]
    subprocess.run([*HAPGPU, "call", *files, "-q", *options], check=True)
    return out


def called_copies(
    caller: str, prepared: Prepared, options: Sequence[str] = ()
) -> dict[Allele, int]:
    """Return the copies of the alleles that a caller finds, split and left-aligned."""
    if caller == "hapgpu":
        return copies_of_alleles(calls_of_hapgpu(prepared, options), prepared)
    return call(caller, prepared.inputs.reads, prepared)


def true_copies(prepared: Prepared) -> dict[Allele, int]:
    """Return the copies of the alleles of the truth set."""
    if prepared.inputs.truth is None:
        message = "no truth set"
        raise ValueError(message)
    return copies_of_alleles(prepared.inputs.truth, prepared)


def differences(
    called: Mapping[Allele, int], truth: Mapping[Allele, int], confident: Path | None
) -> list[str]:
    """Return a line for each allele that is missed, false, or has another number of copies."""
    lines = []
    for allele in sorted(called.keys() | truth.keys()):
        expected, found = truth.get(allele, 0), called.get(allele, 0)
        if expected != found and is_within(allele, confident):
            what = "false" if not expected else "missed" if not found else "genotype"
            position, ref, alt = allele
            lines.append(f"{what}\t{kind_of(allele)}\t{position}\t{ref}>{alt}\t{expected}\t{found}")
    return lines


def main() -> None:
    """Print a table for each sample."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--sample", choices=SAMPLES, action="append", help="default: both")
    parser.add_argument("--data", type=Path, default=os.environ.get("HAPGPU_TEST_DATA"))
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="keep all files here")
    parser.add_argument("--list", action="store_true", help="list alleles that differ")
    parser.add_argument("--caller", choices=NAMES, action="append", help="default: all")
    given, options = parser.parse_known_args()
    callers = [x for x in given.caller or NAMES if x == "hapgpu" or shutil.which(x)]
    with tempfile.TemporaryDirectory() as temporary:
        for sample in given.sample or SAMPLES:
            inputs = inputs_of(sample, Path(given.data))
            prepared = prepare(inputs, (given.keep or Path(temporary)) / sample)
            truth = true_copies(prepared)
            for caller in callers:
                called = called_copies(caller, prepared, options)
                scores = scores_of(called, truth, inputs.confident)
                cells = [
                    f"{kind} {scores[kind].right}/{scores[kind].total} false {scores[kind].false}"
                    for kind in KINDS
                ]
                print(f"{sample:8} {caller:9}", *cells, sep="  ")
                if given.list:
                    for line in differences(called, truth, inputs.confident):
                        print(f"{caller}\t{line}")


if __name__ == "__main__":
    main()
