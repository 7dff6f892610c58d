"""Runs of `hapgpu chain`, and a small reference with long reads."""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pysam

from tests.cli.in_process import status_of_command

COMMAND = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", "chain"]
ON_CPU = ("-q", "--device", "cpu", "-t", "1")
UNIT, COPIES = 300, 20
SHARED = slice(20_000, 22_000)
"""An interval of chr1 whose bases chr2 repeats from `SHARED_ON_CHR2` on."""
SHARED_ON_CHR2 = 5000
_COMPLEMENTS = str.maketrans("ACGTacgtN", "TGCAtgcaN")


@dataclass(frozen=True)
class Sample:
    """A reference and reads, as text and as files; `origins` has the origin of each read."""

    directory: Path
    contigs: dict[str, str]
    reads: dict[str, str]
    origins: dict[str, tuple[str, int, int, str]]

    @property
    def fasta(self) -> Path:
        return self.directory / "reference.fa"

    @property
    def fastq(self) -> Path:
        return self.directory / "reads.fq"

    @property
    def index(self) -> Path:
        return self.directory / "reference.fa.k15w10.hgm"


def make_sample(directory: Path) -> Sample:
    random = Random(9)  # noqa: S311  (reproducible data, not secrets)
    sample = Sample(directory, _contigs(random), {}, {})
    _add_reads(random, sample)
    sample.fasta.write_text(fasta_text(sample.contigs))
    sample.fastq.write_text(fastq_text(sample.reads))
    return sample


def fasta_text(records: dict[str, str]) -> str:
    lines = []
    for name, bases in records.items():
        lines += [f">{name}", *(bases[k : k + 60] for k in range(0, len(bases), 60))]
    return "\n".join([*lines, ""])


def fastq_text(records: dict[str, str]) -> str:
    """Return FASTQ whose qualities start with @, as headers do."""
    return "".join(
        f"@{name}\n{bases}\n+\n{'@' * min(len(bases), 1)}{'I' * (len(bases) - 1)}\n"
        for name, bases in records.items()
    )


def letters(random: Random, length: int) -> str:
    return "".join(random.choices("ACGT", k=length))


def complement(bases: str) -> str:
    return bases[::-1].translate(_COMPLEMENTS)


def _contigs(random: Random) -> dict[str, str]:
    """Make contigs with a common interval, and one with a tandem repeat."""
    first, second, unit = letters(random, 32_000), letters(random, 10_000), letters(random, UNIT)
    second = second[:SHARED_ON_CHR2] + first[SHARED] + second[SHARED_ON_CHR2:]
    third = "".join(letters(random, 400) + unit for _ in range(COPIES))
    return {"chr1": first, "chr2": second, "chr3": third}


def _add_reads(random: Random, sample: Sample) -> None:
    for number in range(40):
        length = random.randrange(1500, 5000)
        start = random.randrange(18_000 - length)
        bases = with_errors(random, sample.contigs["chr1"][start : start + length])
        strand = random.choice("+-")
        name = f"r{number}"
        sample.reads[name] = bases if strand == "+" else complement(bases)
        sample.origins[name] = ("chr1", start, start + length, strand)
    first, second = sample.contigs["chr1"], sample.contigs["chr2"]
    beyond = SHARED_ON_CHR2 + SHARED.stop - SHARED.start
    sample.reads.update(
        {f"shared{number}": first[SHARED] for number in range(12)}
        | {
            "gap": first[1000:3000] + letters(random, 1500) + first[4500:6500],
            "deletion": first[8000:10_000] + first[11_000:13_000],
            "unit": sample.contigs["chr3"][400 : 400 + UNIT],
            "tandem": first[15_000:15_200] * 60,
            "overlap": first[12_000 : SHARED.stop] + second[beyond : beyond + 1000],
            "foreign": letters(random, 3000),
        }
    )


def with_errors(random: Random, bases: str) -> str:
    """Change, drop or insert one base in sixteen."""
    out = []
    for base in bases:
        match random.randrange(48):
            case 0:
                out.append(random.choice("ACGT".replace(base, "")))
            case 1:
                pass
            case 2:
                out.append(base + random.choice("ACGT"))
            case _:
                out.append(base)
    return "".join(out)


def write_unaligned(sample: Sample, path: Path, mode: str) -> Path:
    """Write the reads as a sequencer does; every third has no qualities."""
    header = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}})
    with pysam.AlignmentFile(str(path), mode, header=header) as file:
        for number, (name, bases) in enumerate(sample.reads.items()):
            record = pysam.AlignedSegment(header)
            record.query_name, record.flag, record.query_sequence = name, 4, bases
            if number % 3:
                record.query_qualities = array("B", [20] * len(bases))
            record.set_tags([("qs", 12.5), ("ML", array("B", range(200)))])
            file.write(record)
    return path


def status_of(*arguments: str | Path) -> int:
    """Run the command in this process; return its exit status."""
    return status_of_command("chain", *arguments)


def lines_of(directory: Path, *arguments: str | Path, threads: int = 1) -> list[str]:
    """Map on the CPU, to PAF; return its lines."""
    path = directory / "out.paf"
    path.unlink(missing_ok=True)
    resources = ("-q", "--device", "cpu", "-t", str(threads))
    assert status_of(*arguments, *resources, "-o", path) == 0
    return path.read_text().splitlines()


def sam_of(directory: Path, *arguments: str | Path) -> list[str]:
    """Align on the CPU, to SAM without @PG; return its lines."""
    path = directory / "out.sam"
    path.unlink(missing_ok=True)
    assert status_of(*arguments, *ON_CPU, "--no-PG", "-o", path) == 0
    return path.read_text().splitlines()


def of_read(lines: list[str], name: str) -> list[list[str]]:
    """Return the fields of the lines of a read."""
    return [fields for line in lines if (fields := line.split("\t"))[0] == name]


def tag(fields: list[str], name: str) -> str:
    (value,) = (field[5:] for field in fields[12:] if field.startswith(f"{name}:"))
    return value
