"""Reads and variant calls before and after `hapgpu realign --reference`, against a truth set.

    python -m tests.realign.caller_comparison --sample HG002 --keep /tmp/hg002 --min-score 0.5

Options unknown to this script are passed to `hapgpu realign`.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pysam

from tests.realign.mate_claims import (
    Changes,
    fixmate,
    fixmate_changes,
    new_fixmate_changes,
)
from tests.realign.record_claims import (
    EXCLUDED,
    Comparison,
    Finding,
    Locus,
    Match,
    Rules,
    claims,
    compare,
)
from tests.realign.sam_records import terminal_insertion

HAPGPU = [sys.executable, "-c", "from hapgpu.cli.app import main; main()"]
SAMPLES = ("NA12878", "HG002")
REGION = "chr20:10000001-10050000"
CALLERS = ("bcftools", "freebayes")
KINDS = ("SNP", "indel")
GREW_MUCH = 5
LONG_INSERTION = 10

Allele = tuple[int, str, str]


@dataclass(frozen=True)
class Inputs:
    """Reads, reference, loci and truth set of a comparison."""

    reads: Path
    reference: Path
    truth: Path | None = None
    """Without it, variants are not called."""
    haplotypes: Path | None = None
    """FASTA with loci; made from the truth if there is none."""
    confident: Path | None = None
    """BED of confident regions; calls outside are ignored."""
    region: str = REGION


@dataclass(frozen=True)
class Run:
    """Time and memory of a command."""

    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Score:
    """Calls of one kind of variant, compared with the truth."""

    total: int
    found: int
    right: int
    false: int


@dataclass
class Growth:
    """Changes of edit distance plus clipped bases of the reads."""

    at_loci: int = 0
    moved: int = 0
    mapped_anew: int = 0
    grew_much: list[str] = field(default_factory=list)
    grew: list[str] = field(default_factory=list)
    shrank: int = 0
    insertions: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return len(self.grew) / max(1, self.at_loci)


@dataclass
class Clipped:
    """Soft-clipped reads, before and after, at loci with an indel."""

    at_loci: tuple[int, int]
    within_loci: tuple[int, int]


@dataclass
class Prepared:
    """Files of a comparison."""

    inputs: Inputs
    directory: Path
    reference: Path
    haplotypes: Path

    @property
    def loci(self) -> list[Locus]:
        return sorted(haplotype_lengths(self.haplotypes))


def inputs_of(sample: str, data: Path) -> Inputs:
    """Return the files of a sample of the development region."""
    directory = data / "illumina_na12878"
    return Inputs(
        directory / f"{sample}.chr20.dev.bam",
        directory / "chr20.hg19.fa.gz",
        directory / f"{sample}.truth.dev.vcf.gz",
        confident=directory / "HG002.confident.dev.bed" if sample == "HG002" else None,
    )


def prepare(inputs: Inputs, directory: Path) -> Prepared:
    """Write the reference as plain text, as freebayes needs it, and the haplotypes."""
    directory.mkdir(parents=True, exist_ok=True)
    reference = inputs.reference
    if reference.suffix == ".gz":
        reference = directory / reference.with_suffix("").name
        if not reference.exists():
            with gzip.open(inputs.reference) as text, reference.open("wb") as out:
                shutil.copyfileobj(text, out)
            pysam.faidx(str(reference))
    haplotypes = inputs.haplotypes
    if haplotypes is None:
        haplotypes = directory / "haplotypes.fa"
        files = (inputs.reference, inputs.truth, "-q", "-o", haplotypes)
        subprocess.run([*HAPGPU, "haplotypes", *map(str, files)], check=True)
    return Prepared(inputs, directory, reference, haplotypes)


def realign(prepared: Prepared, reads: Path, out: Path, options: Sequence[str] = ()) -> Run:
    """Realign to an indexed BAM file; sort it if the command left it unsorted."""
    given = [reads, prepared.haplotypes, "--reference", prepared.inputs.reference, "-o", out]
    common = ["--device", "cpu", "-t", "2", "-q"]
    started = time.perf_counter()
    process = subprocess.Popen([*HAPGPU, "realign", *map(str, given), *common, *options])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return Run(seconds, usage.ru_maxrss / 1024)


def indexed(path: Path) -> Path:
    """Return the file with an index; sorted first if its header says unsorted."""
    with pysam.AlignmentFile(str(path)) as file:
        is_sorted = file.header.to_dict().get("HD", {}).get("SO") == "coordinate"
    if not is_sorted:
        path, unsorted = path.with_suffix(".sorted.bam"), path
        pysam.sort("-o", str(path), str(unsorted))
    pysam.index(str(path))
    return path


def with_mate_fields(reads: Path, directory: Path) -> Path:
    """Return the reads after fixmate, sorted, so that fixmate changes nothing more."""
    fixed, out = directory / "fixed.by_name.bam", directory / f"fixed.{reads.name}"
    fixmate(reads, fixed)
    pysam.sort("-o", str(out), str(fixed))
    pysam.index(str(out))
    return out


def haplotype_lengths(fasta: Path) -> dict[Locus, list[int]]:
    """Return the lengths of the haplotypes of each locus, 0-based and half-open."""
    found: dict[Locus, list[int]] = {}
    with pysam.FastxFile(str(fasta)) as file:
        for entry in file:
            contig, _, interval = entry.comment.split()[0].rpartition(":")
            start, end = map(int, interval.split("-"))
            found.setdefault((contig, start - 1, end), []).append(len(entry.sequence))
    return found


def growth_of(found: Comparison, loci: Sequence[Locus]) -> Growth:
    """Compare edits and clips of each read before and after."""
    growth = Growth()
    growth.at_loci = sum(
        not r.flag & EXCLUDED and any(r.overlaps(locus) for locus in loci) for r in found.before
    )
    for match in found.moved:
        growth.moved += 1
        before, after = match.before, match.after
        if before.is_unmapped or after.is_unmapped:
            growth.mapped_anew += before.is_unmapped
            continue
        old, new = (edits.burden for edits in found.edits(match))
        line = (
            f"{before.name}\t{before.flag}\t{before.position}\t{before.cigar_text}\t{old}"
            f"\t{after.position}\t{after.cigar_text}\t{new}"
        )
        if new > old:
            growth.grew.append(line)
        if new > old + GREW_MUCH:
            growth.grew_much.append(line)
        growth.shrank += new < old
        if terminal_insertion(after.cigar) >= LONG_INSERTION > terminal_insertion(before.cigar):
            growth.insertions.append(line)
    return growth


def clipped_of(matches: Sequence[Match], haplotypes: Mapping[Locus, list[int]]) -> Clipped:
    """Count soft-clipped reads at loci where haplotypes differ in length, and within them."""
    with_indel = [
        locus
        for locus, lengths in haplotypes.items()
        if any(length != locus[2] - locus[1] for length in lengths)
    ]
    at, within = [0, 0], [0, 0]
    for match in matches:
        record = match.before
        if record.is_unmapped or record.flag & EXCLUDED:
            continue
        loci = [locus for locus in with_indel if record.overlaps(locus)]
        is_within = any(s < record.position and record.end <= e for _, s, e in loci)
        for side, cigar in enumerate((record.cigar_text, match.after.cigar_text)):
            at[side] += bool(loci) and "S" in cigar
            within[side] += is_within and "S" in cigar
    return Clipped((at[0], at[1]), (within[0], within[1]))


def call(caller: str, reads: Path, prepared: Prepared) -> dict[Allele, int]:
    """Call variants; return the number of copies of each alternative allele."""
    return copies_of_alleles(calls_of(caller, reads, prepared), prepared)


def calls_of(caller: str, reads: Path, prepared: Prepared) -> Path:
    """Run bcftools or freebayes on the region; return its VCF."""
    reference, region = str(prepared.reference), prepared.inputs.region
    out = prepared.directory / f"{reads.name}.{caller}.vcf"
    if caller == "bcftools":
        pileup = ["bcftools", "mpileup", "-f", reference, "-r", region, "-a", "AD", "-Ou"]
        _pipe([[*pileup, str(reads)], ["bcftools", "call", "-mv", "-o", str(out)]])
    else:
        start, end = (int(x) for x in region.rpartition(":")[2].split("-"))
        interval = f"{region.rpartition(':')[0]}:{start - 1}-{end}"  # freebayes counts from 0
        with out.open("w") as file:
            command = ["freebayes", "-f", reference, "-r", interval, str(reads)]
            subprocess.run(command, check=True, stdout=file)
    return out


def copies_of_alleles(calls: Path, prepared: Prepared) -> dict[Allele, int]:
    """Return copies of alleles, split into single changes and left-aligned."""
    out = prepared.directory / f"{calls.name.removesuffix('.gz')}.norm.vcf"
    reference = str(prepared.reference)
    split = ["bcftools", "norm", "-m-any", "-f", reference, "-Ou", str(calls)]
    atoms = ["bcftools", "norm", "-a", "-f", reference, "-Ou"]
    _pipe([split, atoms, ["bcftools", "norm", "-f", reference, "-o", str(out)]])
    copies: dict[Allele, int] = {}
    with pysam.VariantFile(str(out)) as file:
        for record in file:
            genotype = record.samples[0]["GT"]
            for number, alternative in enumerate(record.alts or (), 1):
                allele = record.pos, record.ref.upper(), alternative.upper()
                if count := genotype.count(number) * (alternative != "*"):
                    copies[allele] = min(2, copies.get(allele, 0) + count)
    return copies


def _pipe(commands: Sequence[Sequence[str]]) -> None:
    """Run commands as a pipe."""
    running: list[subprocess.Popen[bytes]] = []
    for command in commands:
        source = running[-1].stdout if running else None
        is_last = command is commands[-1]
        running.append(
            subprocess.Popen(
                command,
                stdin=source,
                stdout=None if is_last else subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        if source:
            source.close()
    for process in reversed(running):
        _, printed = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{process.args!r}: {printed.decode()}")


def kind_of(allele: Allele) -> str:
    return "SNP" if len(allele[1]) == len(allele[2]) == 1 else "indel"


def scores_of(
    called: Mapping[Allele, int], truth: Mapping[Allele, int], confident: Path | None
) -> dict[str, Score]:
    """Compare calls with the truth within confident intervals."""
    counts = {kind: [0, 0, 0, 0] for kind in KINDS}
    intervals = _intervals(confident)
    for allele in called.keys() | truth.keys():
        if intervals and not any(allele[0] in part for part in intervals):
            continue
        count = counts[kind_of(allele)]
        if allele in truth:
            count[0] += 1
            count[1] += allele in called
            count[2] += called.get(allele) == truth[allele]
        else:
            count[3] += 1
    return {kind: Score(*count) for kind, count in counts.items()}


def is_within(allele: Allele, bed: Path | None) -> bool:
    """Return whether the position of an allele is in an interval of a BED file; None: yes."""
    return bed is None or any(allele[0] in part for part in _intervals(bed))


def _intervals(bed: Path | None) -> list[range]:
    if bed is None:
        return []
    rows = (line.split() for line in bed.read_text().splitlines())
    return [range(int(start) + 1, int(end) + 1) for _, start, end in rows]


@dataclass
class Report:
    """All measurements of one sample."""

    run: Run
    growth: Growth
    clipped: Clipped
    findings: list[Finding]
    fixmate: Changes
    """Changes of fixmate in the output that it does not make in the input."""
    fixmate_of_fixed: Changes
    """The same for an input in which fixmate changes nothing."""
    scores: dict[tuple[str, str], tuple[Score, Score]]
    """By caller and kind of variant: before, after."""


def measure(
    inputs: Inputs,
    directory: Path,
    options: Sequence[str] = (),
    *,
    callers: Sequence[str] = CALLERS,
    rules: Rules | None = None,
) -> Report:
    """Realign, and compare everything before and after."""
    prepared = prepare(inputs, directory)
    out = directory / "realigned.bam"
    run = realign(prepared, inputs.reads, out, options)
    rules = rules or Rules(
        loci=prepared.loci, loci_only="--loci-only" in options, always="--always" in options
    )
    found = compare(inputs.reads, out, inputs.reference)
    return Report(
        run,
        growth_of(found, prepared.loci),
        clipped_of(found.matches, haplotype_lengths(prepared.haplotypes)),
        claims(found, rules),
        new_fixmate_changes(
            fixmate_changes(inputs.reads, directory), fixmate_changes(out, directory)
        ),
        changes_of_fixed(prepared, options),
        called_scores(prepared, out, callers),
    )


def changes_of_fixed(prepared: Prepared, options: Sequence[str] = ()) -> Changes:
    """Return the changes of fixmate in the output, for an input already processed by fixmate."""
    fixed = with_mate_fields(prepared.inputs.reads, prepared.directory)
    out = prepared.directory / "realigned.fixed.bam"
    realign(prepared, fixed, out, options)
    return fixmate_changes(out, prepared.directory)


def called_scores(
    prepared: Prepared, out: Path, callers: Sequence[str]
) -> dict[tuple[str, str], tuple[Score, Score]]:
    scores: dict[tuple[str, str], tuple[Score, Score]] = {}
    if prepared.inputs.truth is None or not callers:
        return scores
    truth = copies_of_alleles(prepared.inputs.truth, prepared)
    realigned = indexed(out)
    for caller in callers:
        before, after = (
            scores_of(call(caller, reads, prepared), truth, prepared.inputs.confident)
            for reads in (prepared.inputs.reads, realigned)
        )
        scores |= {(caller, kind): (before[kind], after[kind]) for kind in KINDS}
    return scores


def validation(path: Path, prepared: Prepared) -> dict[str, int]:
    """Return the numbers of Picard's errors by type."""
    dictionary = prepared.reference.with_suffix(".dict")
    if not dictionary.exists():
        pysam.samtools.dict("-o", str(dictionary), str(prepared.reference), catch_stdout=False)
    command = ["PicardCommandLine", "ValidateSamFile", f"I={path}", f"R={prepared.reference}"]
    command += ["MODE=SUMMARY", "QUIET=true", "VERBOSITY=ERROR"]
    printed = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    rows = (line.split("\t") for line in printed.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def table_rows(report: Report) -> Iterator[tuple[str, object, object]]:
    """Yield the rows of the table: name, before, after."""
    growth = report.growth
    yield "reads at loci", growth.at_loci, ""
    yield "moved (of which unmapped before)", "", f"{growth.moved} ({growth.mapped_anew})"
    yield f"edits + clips grew by more than {GREW_MUCH}", "", len(growth.grew_much)
    yield "edits + clips grew", "", f"{len(growth.grew)} ({growth.share:.3%})"
    yield "edits + clips shrank", "", growth.shrank
    yield f"new terminal insertions of {LONG_INSERTION} or more", "", len(growth.insertions)
    yield "soft-clipped reads at loci with an indel", *report.clipped.at_loci
    yield "  and within them", *report.clipped.within_loci
    for (caller, kind), (before, after) in report.scores.items():
        total = f" (of {before.total})"
        yield f"{caller} {kind} found{total}", before.found, after.found
        yield f"{caller} {kind} genotypes right{total}", before.right, after.right
        yield f"{caller} {kind} false", before.false, after.false
    yield "records newly changed by fixmate", "", len(report.fixmate)
    yield "  the same after fixmate of the input", "", len(report.fixmate_of_fixed)
    yield "findings of record claims", "", len(report.findings)
    yield "seconds, MiB of the run", "", f"{report.run.seconds:.1f}, {report.run.megabytes:.0f}"


def print_report(title: str, report: Report) -> None:
    print(f"{title:54}{'before':>10}{'after':>16}")
    for count, before, after in table_rows(report):
        print(f"{count:54}{before!s:>10}{after!s:>16}")
    counts: dict[str, list[Finding]] = {}
    for finding in report.findings:
        counts.setdefault(finding.kind, []).append(finding)
    for kind, found in counts.items():
        print(f"  {kind}: {len(found)}, such as {found[0].name} {found[0].detail}")
    for changes in (report.fixmate, report.fixmate_of_fixed):
        for key, fields in list(changes.items())[:3]:
            print(f"  fixmate: {key[0]} {key[1]} {fields}")


def _arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--sample", choices=SAMPLES, action="append", help="default: both")
    parser.add_argument("--data", type=Path, metavar="DIRECTORY", help="default: HAPGPU_TEST_DATA")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="keep all files here")
    parser.add_argument("--list", action="store_true", help="list reads that grew, all findings")
    parser.add_argument("--picard", action="store_true", help="compare errors of ValidateSamFile")
    parser.add_argument("--no-callers", action="store_true", help="call no variants")
    group = parser.add_argument_group("other data, instead of a sample")
    for name in ("reads", "haplotypes", "reference", "truth", "confident"):
        group.add_argument(f"--{name}", type=Path)
    group.add_argument("--region", default=REGION)
    given, options = parser.parse_known_args()
    data = os.environ.get("HAPGPU_TEST_DATA")
    given.data = given.data or (Path(data) if data else None)
    if not given.reads and not given.data:
        parser.error("no test data: set HAPGPU_TEST_DATA or give --data")
    if given.reads and not (given.reference and (given.haplotypes or given.truth)):
        parser.error("--reads needs --reference, and --haplotypes or --truth")
    return given, options


def _all_inputs(given: argparse.Namespace) -> dict[str, Inputs]:
    if not given.reads:
        return {x: inputs_of(x, given.data) for x in given.sample or SAMPLES}
    files = (given.reads, given.reference, given.truth, given.haplotypes, given.confident)
    return {given.reads.name: Inputs(*files, region=given.region)}


def _print_lists(report: Report) -> None:
    for title, lines in (
        ("grew", report.growth.grew),
        ("terminal insertion", report.growth.insertions),
        ("finding", ["\t".join(finding) for finding in report.findings]),
    ):
        for line in lines:
            print(f"{title}\t{line}")


def main() -> None:
    """Print a table for each sample."""
    given, options = _arguments()
    callers = [] if given.no_callers else [x for x in CALLERS if shutil.which(x)]
    with tempfile.TemporaryDirectory() as temporary:
        for name, inputs in _all_inputs(given).items():
            directory = (given.keep or Path(temporary)) / name
            report = measure(inputs, directory, options, callers=callers)
            print_report(name, report)
            if given.list:
                _print_lists(report)
            if given.picard:
                _print_errors(prepare(inputs, directory), directory / "realigned.bam")


def _print_errors(prepared: Prepared, out: Path) -> None:
    """Print Picard's errors, before and after."""
    before, after = (validation(path, prepared) for path in (prepared.inputs.reads, out))
    for kind in sorted(before.keys() | after.keys()):
        counts = before.get(kind, 0), after.get(kind, 0)
        print(f"  Picard {kind}: {counts[0]} -> {counts[1]}{' MORE' * (counts[1] > counts[0])}")


if __name__ == "__main__":
    main()
