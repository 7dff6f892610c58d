#!/usr/bin/env python3
"""Write a small data set: a reference, haplotypes, sites, short and long reads of a diploid sample.

The two chromosomes of the sample carry different haplotypes at four loci: SNPs, a deletion, a
dinucleotide repeat, and a deletion of 50 bases between SNPs. At the last, the mapper clips reads
instead of opening the gap. The short reads resemble Illumina reads aligned by bwa mem: qualities
fall along the read, errors follow the qualities, indel errors are rare. Some reads have soft clips,
foreign tails or duplicates. Two more files hold amplicon reads of one locus, and long reads with
one error in twenty bases. `sites.vcf` lists the sites of the first three loci.

Every run writes the same files.
"""

from __future__ import annotations

import argparse
import gzip
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random

import pysam

CONTIG = "chr20"
REFERENCE_LENGTH = 20_000
REPEAT = (15_180, "CA" * 14)
WINDOW = 400
READ_LENGTH = 150
PAIRS = 1_000
AMPLICON_READS = 200
LONG_READS = 60
LONG_READ_LENGTH = 4_000
LONG_READ_QUALITY = 13  # one error in twenty bases
UNCARRIED_SNP = 5_250  # a site where the sample has only the reference allele
HIDDEN_DELETION = (17_675, 50)
HIDDEN_PAIRS = 30
SNP_DISTANCES = (28, 41, 49, 58, 70), (33, 44, 52, 61, 69)  # left of the deletion, right of it
COMPLEMENT = str.maketrans("ACGT", "TGCA")

# The scoring of bwa mem. An alignment that reaches an end of the read gets the bonus.
MATCH, MISMATCH, GAP_OPEN, GAP_EXTEND, END_BONUS = 1, -4, -6, -1, 5

INSERTED = -1  # the position of a base that the reference does not have
CMATCH, CINS, CDEL, CSOFT_CLIP = 0, 1, 2, 4
PAIRED, PROPER, REVERSE, MATE_REVERSE, FIRST, SECOND, DUPLICATE = 1, 2, 16, 32, 64, 128, 1024

Cigar = list[tuple[int, int]]


@dataclass(frozen=True)
class Edit:
    """Replacement of `deleted` bases from `position` (0-based, on the reference) by `inserted`."""

    position: int
    deleted: int
    inserted: str


@dataclass(frozen=True)
class Locus:
    """An interval of the reference and its alleles, the reference allele included."""

    start: int
    alleles: dict[str, list[Edit]]

    @property
    def end(self) -> int:
        """End of the interval, exclusive."""
        return self.start + WINDOW


@dataclass(frozen=True)
class Template:
    """A chromosome of the sample, with the reference position of each base."""

    bases: str
    positions: list[int]


@dataclass(frozen=True)
class Read:
    """A sequenced read in reference orientation, with the true position of each base."""

    bases: str
    qualities: list[int]
    positions: list[int]


def main() -> None:
    """Write the data set to the directory given on the command line."""
    parser = argparse.ArgumentParser(description="Write hapgpu's example data set.")
    parser.add_argument(
        "directory", type=Path, metavar="DIRECTORY", help="Where to write the files."
    )
    directory = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)

    random = Random(20)  # noqa: S311  (reproducible data, not secrets)
    reference = make_reference(random)
    loci = make_loci(reference)
    write_fasta(directory / "reference.fa", {CONTIG: reference})
    pysam.faidx(str(directory / "reference.fa"))
    write_fasta(directory / "haplotypes.fa", haplotypes(reference, loci))
    write_sites(directory / "sites.vcf", reference, loci[:3])
    first, second = (sample_chromosome(reference, loci, which) for which in (1, 2))
    write_bam(directory / "reads.bam", random, reference, [first, second], loci)
    write_fastq(directory / "reads.fastq.gz", directory / "reads.bam")

    alleles = {f"allele{n}": seq for n, seq in enumerate(locus_sequences(reference, loci[1]), 1)}
    write_fasta(directory / "alleles.fa", alleles)
    write_amplicons(directory / "amplicons.fastq.gz", random, list(alleles.values()))
    write_long_reads(directory / "long_reads.fastq.gz", random, [first, second])


def make_reference(random: Random) -> str:
    """Return a random sequence with one dinucleotide repeat."""
    bases = "".join(random.choices("ACGT", weights=(3, 2, 2, 3), k=REFERENCE_LENGTH))
    start, repeat = REPEAT
    return bases[:start] + repeat + bases[start + len(repeat) :]


def make_loci(reference: str) -> list[Locus]:
    """Return the four loci: SNPs, a deletion, a repeat, a deletion between SNPs."""
    snps = [substitute(reference, position) for position in (5_120, 5_205, 5_290)]
    deletion = Edit(10_190, 18, "")
    repeat = REPEAT[0]
    start, length = HIDDEN_DELETION
    left = [substitute(reference, start - 1 - distance) for distance in SNP_DISTANCES[0][::-1]]
    right = [substitute(reference, start + length + distance) for distance in SNP_DISTANCES[1]]
    hidden = [*left, Edit(start, length, ""), *right]
    return [
        Locus(5_000, {"ref": [], "snps": snps, "snp": snps[:1]}),
        Locus(10_000, {"ref": [], "deletion": [deletion]}),
        Locus(
            15_000,
            {"ref": [], "longer": [Edit(repeat, 0, "CACACA")], "shorter": [Edit(repeat, 4, "")]},
        ),
        Locus(17_500, {"ref": [], "hidden": hidden, "hidden2": hidden[:-1]}),
    ]


def substitute(reference: str, position: int) -> Edit:
    """Return the edit that repositions one base by its complement."""
    return Edit(position, 1, reference[position].translate(COMPLEMENT))


def apply_edits(reference: str, edits: Sequence[Edit]) -> Template:
    """Apply sorted edits that do not overlap."""
    bases: list[str] = []
    positions: list[int] = []
    done = 0
    for edit in edits:
        bases += [reference[done : edit.position], edit.inserted]
        positions += range(done, edit.position)
        if len(edit.inserted) == edit.deleted:
            positions += range(edit.position, edit.position + edit.deleted)
        else:
            positions += [INSERTED] * len(edit.inserted)
        done = edit.position + edit.deleted
    bases.append(reference[done:])
    positions += range(done, len(reference))
    return Template("".join(bases), positions)


def locus_sequences(reference: str, locus: Locus) -> list[str]:
    """Return the sequence of each allele of a locus."""
    window = reference[locus.start : locus.end]
    return [
        apply_edits(
            window, [Edit(e.position - locus.start, e.deleted, e.inserted) for e in edits]
        ).bases
        for edits in locus.alleles.values()
    ]


def haplotypes(reference: str, loci: Sequence[Locus]) -> dict[str, str]:
    """Return the sequence of every allele, by a header with its locus."""
    return {
        f"locus{number}_{name} {CONTIG}:{locus.start + 1}-{locus.end}": sequence
        for number, locus in enumerate(loci, 1)
        for name, sequence in zip(locus.alleles, locus_sequences(reference, locus), strict=True)
    }


def write_sites(path: Path, reference: str, loci: Sequence[Locus]) -> None:
    """Write the edits of all alleles, and one that no allele has, to a VCF without genotypes."""
    edits = {edit for locus in loci for allele in locus.alleles.values() for edit in allele}
    edits.add(substitute(reference, UNCARRIED_SNP))
    ordered = sorted(edits, key=lambda edit: (edit.position, edit.deleted))
    with path.open("w") as out:
        out.write(f"##fileformat=VCFv4.3\n##contig=<ID={CONTIG},length={len(reference)}>\n")
        out.write("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
        for _, site in groupby(ordered, key=lambda edit: edit.position):
            out.write(vcf_line(reference, list(site)))


def vcf_line(reference: str, edits: Sequence[Edit]) -> str:
    """Return the VCF record of edits at one position, one ALT allele per edit."""
    position = edits[0].position
    end = max(edit.position + edit.deleted for edit in edits)
    # An allele must not be empty, so an indel includes the base before it.
    start = position - any(len(edit.inserted) != edit.deleted for edit in edits)
    alt_alleles = [
        reference[start:position] + edit.inserted + reference[position + edit.deleted : end]
        for edit in edits
    ]
    columns = [CONTIG, start + 1, ".", reference[start:end], ",".join(alt_alleles), *"..."]
    return "\t".join(map(str, columns)) + "\n"


def sample_chromosome(reference: str, loci: Sequence[Locus], which: int) -> Template:
    """Return a chromosome of the sample: the last (1) or second-last (2) allele of each locus."""
    return apply_edits(
        reference, [edit for locus in loci for edit in list(locus.alleles.values())[-which]]
    )


def sequence_read(random: Random, template: Template, start: int, *, reverse: bool) -> Read:
    """Sequence a read from its 5' end, which is the right end of a reverse read."""
    cycles = range(start, min(start + READ_LENGTH + 10, len(template.bases)))
    bases: list[str] = []
    positions: list[int] = []
    for position in cycles:
        event = random.random()
        if event < 0.0003:
            continue
        bases.append(template.bases[position])
        positions.append(template.positions[position])
        if event > 0.9997:
            bases.append(random.choice("ACGT"))
            positions.append(INSERTED)
    kept = slice(-READ_LENGTH, None) if reverse else slice(READ_LENGTH)
    bases, positions = bases[kept], positions[kept]
    qualities = cycle_qualities(random, len(bases))
    if random.random() < 0.02:
        foreign_tail(random, bases, qualities, positions, reverse=reverse)
    if reverse:
        qualities.reverse()
    return Read(with_errors(random, bases, qualities), qualities, positions)


def cycle_qualities(random: Random, cycles: int) -> list[int]:
    """Draw qualities that fall and vary more along the read."""
    end_quality = random.triangular(12, 38, 33)
    return [
        max(
            2,
            min(
                41,
                round(
                    random.gauss(38 + (end_quality - 38) * (c / cycles) ** 2, 1 + 4 * c / cycles)
                ),
            ),
        )
        for c in range(cycles)
    ]


def foreign_tail(
    random: Random, bases: list[str], qualities: list[int], positions: list[int], *, reverse: bool
) -> None:
    """Replace the 3' end by a random sequence, in place."""
    tail = random.randint(15, 45)
    where = slice(0, tail) if reverse else slice(len(bases) - tail, len(bases))
    bases[where] = random.choices("ACGT", k=tail)
    positions[where] = [INSERTED] * tail
    qualities[-tail:] = [max(2, quality - 8) for quality in qualities[-tail:]]


def with_errors(random: Random, bases: Sequence[str], qualities: Sequence[int]) -> str:
    """Return bases with substitutions at the rate that their qualities give."""
    return "".join(
        random.choice("ACGT".replace(base, "")) if random.random() < 10 ** (-quality / 10) else base
        for base, quality in zip(bases, qualities, strict=True)
    )


def true_alignment(positions: Sequence[int]) -> tuple[int, Cigar]:
    """Return the start and CIGAR of an alignment with these positions of its bases."""
    operations: list[int] = []
    last = None
    for position in positions:
        if position == INSERTED:
            operations.append(CINS)
            continue
        if last is not None:
            operations += [CDEL] * (position - last - 1)
        operations.append(CMATCH)
        last = position
    cigar = [(operation, len(list(run))) for operation, run in groupby(operations)]
    start = next(position for position in positions if position != INSERTED)
    return start, cigar


def mapped(read: Read, reference: str) -> tuple[int, Cigar]:
    """Return the true alignment, clipped as bwa mem clips if that scores more.

    Only the better part of a split alignment is kept.
    """
    part_start, part_end = best_part(read, reference)
    first, last = read.positions[part_start], read.positions[part_end - 1]
    before = extension(read.bases[:part_start][::-1], reference[:first][::-1])
    after = extension(read.bases[part_end:], reference[last + 1 :])
    positions = [*range(first - before, first), *read.positions[part_start:part_end]]
    positions += range(last + 1, last + 1 + after)
    start, cigar = true_alignment(positions)
    clips = part_start - before, len(read.bases) - part_end - after
    leading, trailing = ([(CSOFT_CLIP, length)] if length else [] for length in clips)
    return start, [*leading, *cigar, *trailing]


def best_part(read: Read, reference: str) -> tuple[int, int]:
    """Return start and end of the part of a read whose true alignment scores best."""
    best = score = start = 0
    part = (0, 0)
    last = INSERTED
    for offset, (base, position) in enumerate(zip(read.bases, read.positions, strict=True)):
        if position == INSERTED:
            opens = offset and read.positions[offset - 1] != INSERTED
            score += GAP_EXTEND + (GAP_OPEN if opens else 0)
            continue
        deleted = position - last - 1 if last != INSERTED else 0
        score += GAP_OPEN + GAP_EXTEND * deleted if deleted else 0
        if score <= 0 or last == INSERTED:
            score, start = 0 if offset else END_BONUS, offset
        score += MATCH if base == reference[position] else MISMATCH
        last = position
        reached = score + (END_BONUS if offset == len(read.bases) - 1 else 0)
        if reached > best:
            best, part = reached, (start, offset + 1)
    return part


def extension(bases: str, reference: str) -> int:
    """Return the number of clipped bases that align without a gap, from the alignment outwards."""
    best = score = length = 0
    for count, (base, expected) in enumerate(zip(bases, reference, strict=False), 1):
        score += MATCH if base == expected else MISMATCH
        reached = score + (END_BONUS if count == len(bases) else 0)
        if reached > best:
            best, length = reached, count
    return length


def write_bam(
    path: Path,
    random: Random,
    reference: str,
    chromosomes: Sequence[Template],
    loci: Sequence[Locus],
) -> None:
    """Write read pairs around the loci, sorted and indexed."""
    header = pysam.AlignmentHeader.from_dict(
        {
            "HD": {"VN": "1.6", "SO": "unsorted"},
            "SQ": [{"SN": CONTIG, "LN": REFERENCE_LENGTH}],
            "RG": [{"ID": "run1", "SM": "sample", "LB": "library", "PL": "ILLUMINA"}],
        }
    )
    # A separate generator, so that reads at the other loci do not depend on these reads.
    hidden = Random(5)  # noqa: S311  (the same data on every run)
    sources = [(random, loci[:3])] * PAIRS + [(hidden, loci[3:])] * HIDDEN_PAIRS
    unsorted = path.with_suffix(".unsorted.bam")
    with pysam.AlignmentFile(str(unsorted), "wb", header=header) as out:
        for number, (source, choice) in enumerate(sources):
            fragment = source.choice(chromosomes), source.choice(choice)
            for record in make_pair(source, *fragment, f"pair{number:04d}", reference, header):
                out.write(record)
    pysam.sort("--no-PG", "-o", str(path), str(unsorted))
    pysam.index(str(path))
    unsorted.unlink()


def write_fastq(path: Path, bam: Path) -> None:
    """Write the reads of a BAM in their sequenced orientation and in the order of the BAM."""
    with gzip.GzipFile(path, "wb", mtime=0) as out, pysam.AlignmentFile(str(bam)) as records:
        for record in records:
            mate = 1 if record.is_read1 else 2
            qualities = pysam.qualities_to_qualitystring(record.get_forward_qualities())
            name = f"@{record.query_name}/{mate}"
            out.write(f"{name}\n{record.get_forward_sequence()}\n+\n{qualities}\n".encode())


def make_pair(
    random: Random,
    template: Template,
    locus: Locus,
    name: str,
    reference: str,
    header: pysam.AlignmentHeader,
) -> tuple[pysam.AlignedSegment, pysam.AlignedSegment]:
    """Sequence both ends of a fragment near a locus."""
    length = max(READ_LENGTH + 20, round(random.gauss(350, 45)))
    start = random.randrange(locus.start - 300, locus.end)
    left = sequence_read(random, template, start, reverse=False)
    right = sequence_read(random, template, start + length - READ_LENGTH - 10, reverse=True)
    flags = (FIRST, SECOND) if random.random() < 0.5 else (SECOND, FIRST)
    shared = PAIRED | PROPER | (DUPLICATE if random.random() < 0.02 else 0)
    records = (
        make_record(left, name, shared | MATE_REVERSE | flags[0], reference, header),
        make_record(right, name, shared | REVERSE | flags[1], reference, header),
    )
    join_mates(*records)
    return records


def make_record(
    read: Read, name: str, flag: int, reference: str, header: pysam.AlignmentHeader
) -> pysam.AlignedSegment:
    """Return the BAM record of a read."""
    record = pysam.AlignedSegment(header)
    record.query_name, record.flag, record.reference_id = name, flag, 0
    record.query_sequence, record.query_qualities = read.bases, array("B", read.qualities)
    record.reference_start, record.cigartuples = mapped(read, reference)
    record.mapping_quality = 60
    record.set_tag("RG", "run1")
    return record


def join_mates(left: pysam.AlignedSegment, right: pysam.AlignedSegment) -> None:
    """Set the mate fields of both records."""
    start = min(left.reference_start, right.reference_start)
    length = max(left.reference_end or 0, right.reference_end or 0) - start
    for record, mate, sign in ((left, right, 1), (right, left, -1)):
        record.next_reference_id, record.next_reference_start = 0, mate.reference_start
        record.template_length = sign * length
        record.set_tag("MC", mate.cigarstring)


def write_amplicons(path: Path, random: Random, alleles: Sequence[str]) -> None:
    """Write reads that span a whole allele, half of them from the reverse strand."""
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        for number in range(AMPLICON_READS):
            bases = random.choice(alleles)
            if random.random() < 0.5:
                bases = bases.translate(COMPLEMENT)[::-1]
            qualities = cycle_qualities(random, len(bases))
            text = "".join(chr(quality + 33) for quality in qualities)
            seen = with_errors(random, bases, qualities)
            out.write(f"@amplicon{number:03d}\n{seen}\n+\n{text}\n".encode())


def write_long_reads(path: Path, random: Random, chromosomes: Sequence[Template]) -> None:
    """Write reads of a few thousand bases, with their true reference interval in the header."""
    quality = chr(33 + LONG_READ_QUALITY)
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        for number in range(LONG_READS):
            template = random.choice(chromosomes)
            length = max(500, round(random.gauss(LONG_READ_LENGTH, LONG_READ_LENGTH / 3)))
            start = random.randrange(len(template.bases) - length)
            positions = [p for p in template.positions[start : start + length] if p != INSERTED]
            bases = with_long_read_errors(random, template.bases[start : start + length])
            strand = random.choice("+-")
            if strand == "-":
                bases = bases.translate(COMPLEMENT)[::-1]
            header = f"@long{number:02d} {CONTIG}:{positions[0] + 1}-{positions[-1] + 1} {strand}"
            out.write(f"{header}\n{bases}\n+\n{quality * len(bases)}\n".encode())


def with_long_read_errors(random: Random, bases: str) -> str:
    """Return bases with substitutions, deletions and duplications at equal rates."""
    rate = 10 ** (-LONG_READ_QUALITY / 10) / 3
    seen: list[str] = []
    for base in bases:
        event = random.random() / rate
        if event < 1:
            seen.append(random.choice("ACGT".replace(base, "")))
        elif event >= 2:
            seen.append(2 * base if event < 3 else base)
    return "".join(seen)


def write_fasta(path: Path, records: dict[str, str]) -> None:
    """Write a FASTA with lines of 60 bases."""
    with path.open("w") as out:
        for header, sequence in records.items():
            lines = (sequence[i : i + 60] for i in range(0, len(sequence), 60))
            out.write("\n".join([f">{header}", *lines, ""]))


if __name__ == "__main__":
    main()
