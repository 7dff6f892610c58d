"""Small alignments with all kinds of mates at loci with indels, consistent for `samtools fixmate`.

Reads come from a sample with an indel at each locus. They are aligned as a mapper may do it: with
the gap, with one that is shifted, clipped where it starts, or straight through it. Names give
their special property.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from random import Random

import pysam

from tests.realign.mate_claims import may_be_proper
from tests.realign.sam_records import (
    DUPLICATE,
    FIRST,
    MATE_REVERSE,
    MATE_UNMAPPED,
    PAIRED,
    PROPER,
    REVERSE,
    SECOND,
    SECONDARY,
    SUPPLEMENTARY,
    UNMAPPED,
    Bases,
    Sam,
    cigar_of,
    edits_of,
    header_lines,
    read_records,
)

LENGTHS = {"one": 1_100_000, "two": 20_000}
FAR = 1_050_000
READ = 100
TIMES = 8
STYLES = ("through", "clip", "gap", "shifted")
SHIFT = 4
FORMATS = ("sorted", "sam", "by_name", "shuffled", "cram")


@dataclass(frozen=True)
class Locus:
    """A window of a contig, half-open, and the change of the sample at one position."""

    name: str
    contig: str
    start: int
    end: int
    position: int
    deleted: int
    inserted: str


LOCI = (
    Locus("deletion", "one", 10_000, 10_400, 10_200, 12, ""),
    Locus("insertion", "one", 10_600, 11_000, 10_800, 0, "ACGTTGCAG"),
    Locus("left", "one", 12_000, 12_300, 12_270, 6, ""),
    Locus("right", "one", 12_300, 12_600, 12_330, 0, "GATTC"),
    Locus("start", "two", 0, 300, 60, 8, ""),
    Locus("end", "two", 19_700, 20_000, 19_940, 0, "TTAGGCA"),
)


@dataclass(frozen=True)
class MadePairs:
    """Files in one directory."""

    reference: Path
    haplotypes: Path
    reads: dict[str, Path]
    """The same records in each of FORMATS."""

    @property
    def loci(self) -> list[tuple[str, int, int]]:
        return [(locus.contig, locus.start, locus.end) for locus in LOCI]


@dataclass
class Drawn:
    """Bases of the sample, and their aligned runs: start in the read, length, position."""

    contig: str
    bases: str
    runs: list[tuple[int, int, int]]


@dataclass
class Maker:
    """Maker of records; positions are 0-based until they are written."""

    contigs: dict[str, str]
    random: Random
    records: list[Sam] = field(default_factory=list)

    def draw(self, contig: str, start: int, length: int = READ) -> Drawn:
        """Read the sample from a position of the reference, with a few errors."""
        bases: list[str] = []
        positions: list[int] = []
        edits = {locus.position: locus for locus in LOCI if locus.contig == contig}
        at = start
        while len(bases) < length:
            locus = edits.get(at)
            if locus:
                bases += locus.inserted
                positions += [-1] * len(locus.inserted)
                at += locus.deleted
            bases.append(self.contigs[contig][at])
            positions.append(at)
            at += 1
        if self.random.random() < 0.3:
            bases[self.random.randrange(length)] = self.random.choice("ACGT")
        return Drawn(contig, "".join(bases[:length]), list(_runs(positions[:length])))

    def aligned(self, drawn: Drawn, style: str) -> tuple[int, str]:
        """Return position and CIGAR as a mapper would write them."""
        longest = max(drawn.runs, key=lambda run: run[1])
        first, length, start = longest
        rest = len(drawn.bases) - first - length
        is_within = start >= first and start + length + rest <= LENGTHS[drawn.contig]
        if style == "through" and is_within:
            return start - first, f"{len(drawn.bases)}M"
        if style in {"gap", "shifted"} and drawn.runs[0][0] == 0:
            return drawn.runs[0][2], _gapped(drawn.runs if style == "gap" else _shifted(drawn.runs))
        return start, _text([(first, "S"), (length, "M"), (rest, "S")])

    def add(
        self, name: str, flag: int, drawn: Drawn, style: str, *, tail: str = "", hard: int = 0
    ) -> Sam:
        """Add a record; a tail of other bases is soft-clipped, `hard` bases are hard-clipped."""
        position, cigar = self.aligned(drawn, style)
        cigar = _merged(f"{hard}H{cigar}{len(tail)}S")
        return self._record(name, flag, (drawn.contig, position + 1, cigar), drawn.bases + tail)

    def add_unmapped(self, name: str, flag: int, mate: Sam | None, bases: str) -> Sam:
        contig, position = (mate.contig, mate.position) if mate else ("*", 0)
        return self._record(name, flag | UNMAPPED, (contig, position, "*"), bases)

    def _record(self, name: str, flag: int, alignment: tuple[str, int, str], bases: str) -> Sam:
        contig, position, cigar = alignment
        qualities = "".join(chr(33 + self.random.randrange(20, 41)) for _ in bases)
        quality = 0 if flag & UNMAPPED else self.random.randrange(20, 61)
        number = len(self.records)
        tags = ["RG:Z:made", f"XI:i:{number * 997}", "XF:f:0.5", "XC:A:x", "XB:B:s,-1,300"]
        columns = [name, flag, contig, position, quality, cigar, "*", 0, 0, bases, qualities, *tags]
        record = Sam([str(column) for column in columns])
        self.records.append(record)
        return record

    def junk(self, length: int = READ) -> str:
        return "".join(self.random.choices("ACGT", k=length))

    def around(self, locus: Locus, length: int = READ) -> int:
        """Return a start from which a read of this length spans the indel."""
        latest = max(locus.position - 12, 0)
        return self.random.randrange(max(locus.position - length + 12, 0), latest + 1)

    def style(self, number: int) -> str:
        return STYLES[number % len(STYLES)]


def make_pairs(directory: Path, seed: int = 7) -> MadePairs:
    """Write reference, haplotypes and reads; they depend only on the seed."""
    directory.mkdir(parents=True, exist_ok=True)
    random = Random(seed)  # noqa: S311 - the same data on every run
    contigs = {name: "".join(random.choices("ACGT", k=n)) for name, n in LENGTHS.items()}
    reference, haplotypes = directory / "reference.fa", directory / "haplotypes.fa"
    reference.write_text("".join(f">{name}\n{bases}\n" for name, bases in contigs.items()))
    pysam.faidx(str(reference))
    haplotypes.write_text("".join(_haplotypes(contigs)))
    maker = Maker(contigs, random)
    for number in range(TIMES):
        for add in (_near, _special, _distant, _several, _alone):
            add(maker, number)
    _finish(maker.records, Bases(reference))
    return MadePairs(reference, haplotypes, _write(directory, maker, reference))


def _near(maker: Maker, n: int) -> None:
    """Add pairs with one or both reads over an indel."""
    deletion, insertion, left, right, start, end = LOCI
    style = maker.style(n)
    read = maker.draw("one", maker.around(deletion))
    maker.add(f"near{n}", PAIRED | FIRST, read, style)
    other = maker.draw("one", 10_230 + 20 * n)
    maker.add(f"near{n}", PAIRED | SECOND | REVERSE, other, "gap")

    for flag, locus in ((FIRST, deletion), (SECOND | REVERSE, insertion)):
        drawn = maker.draw("one", maker.around(locus))
        maker.add(f"two_loci{n}", PAIRED | flag, drawn, style)

    drawn = maker.draw("one", 12_240 + 2 * n)  # from one locus into the next
    maker.add(f"both{n}", PAIRED | SECOND, drawn, style)
    drawn = maker.draw("one", maker.around(right if n % 2 else left) + 100)
    maker.add(f"both{n}", PAIRED | FIRST | REVERSE, drawn, "clip")

    maker.add(f"edge_start{n}", PAIRED | FIRST, maker.draw("two", 3 * n), style)
    maker.add(f"edge_start{n}", PAIRED | SECOND | REVERSE, maker.draw("two", 9 * n), style)
    last = LENGTHS["two"] - READ + len(end.inserted)
    maker.add(f"edge_end{n}", PAIRED | SECOND, maker.draw("two", last - 4 * n), style)
    maker.add(f"edge_end{n}", PAIRED | FIRST | REVERSE, maker.draw("two", last - n), style)
    drawn = maker.draw("two", maker.around(start))
    maker.add(f"same_position{n}", PAIRED | FIRST, drawn, style)
    maker.add(f"same_position{n}", PAIRED | SECOND | REVERSE, drawn, style)


def _special(maker: Maker, n: int) -> None:
    """Add pairs at an indel with unusual records."""
    deletion, insertion = LOCI[:2]
    style = maker.style(n)
    for kind, flag, options in (
        ("duplicate", DUPLICATE, {}),
        ("hard", 0, {"hard": 9}),
        ("adaptor", 0, {"tail": maker.junk(25)}),
    ):
        locus = deletion if n % 2 else insertion
        drawn = maker.draw("one", maker.around(locus, READ - 20))
        maker.add(f"{kind}{n}", PAIRED | FIRST | flag, drawn, style, **options)
        drawn = maker.draw("one", locus.position + 60)
        maker.add(f"{kind}{n}", PAIRED | SECOND | REVERSE | flag, drawn, "gap")
    # A clip of a few bases hides the gap, on either side.
    hidden = deletion.position - 6 if n % 2 else deletion.position - READ + 6
    maker.add(f"hidden{n}", PAIRED | FIRST, maker.draw("one", hidden), "clip")
    drawn = maker.draw("one", deletion.position + 150)
    maker.add(f"hidden{n}", PAIRED | SECOND | REVERSE, drawn, "gap")


def _distant(maker: Maker, n: int) -> None:
    """Add pairs whose ends are far apart, or one of which is unmapped."""
    deletion, insertion, *_, start, _ = LOCI
    style = maker.style(n)
    reverse = REVERSE * (n % 2)
    for kind, contig, drawn_from in (
        ("far", "one", FAR + 100 * n),
        ("other_contig", "two", 9_000 + 100 * n),
        ("other_locus", "two", maker.around(start)),
    ):
        drawn = maker.draw("one", maker.around(deletion))
        maker.add(f"{kind}{n}", PAIRED | FIRST | reverse, drawn, style)
        drawn = maker.draw(contig, drawn_from)
        maker.add(f"{kind}{n}", PAIRED | SECOND, drawn, style)
    drawn = maker.draw("one", maker.around(insertion))
    mate = maker.add(f"unmapped{n}", PAIRED | (SECOND if n % 3 else FIRST) | reverse, drawn, style)
    segment = FIRST if n % 3 else SECOND
    maker.add_unmapped(f"unmapped{n}", PAIRED | segment, mate, maker.junk())
    maker.add_unmapped(f"nowhere{n}", PAIRED | FIRST, None, maker.junk())
    maker.add_unmapped(f"nowhere{n}", PAIRED | SECOND, None, maker.junk())


def _several(maker: Maker, n: int) -> None:
    """Add pairs with further alignments of a read; any of them, or the mate, may be at a locus."""
    deletion, insertion, *_ = LOCI
    style = maker.style(n)
    at_locus = maker.draw("one", maker.around(deletion, 60), 60)
    elsewhere = maker.draw("two", 10_000 + 50 * n, 60)
    primary, other = (at_locus, elsewhere) if n % 2 else (elsewhere, at_locus)
    name, flag = f"supplementary{n}", PAIRED | FIRST
    maker.add(name, flag, primary, style, tail=other.bases)
    maker.add(name, flag | SUPPLEMENTARY, other, style, hard=60)
    drawn = maker.draw("one", maker.around(insertion))
    maker.add(name, PAIRED | SECOND | REVERSE, drawn, style)

    name = f"secondary{n}"
    drawn = maker.draw("one", FAR + 300 + 100 * n)
    maker.add(name, flag, drawn, "gap")
    for contig, position in (("two", 5_000 + n), ("one", insertion.position - 40)):
        copy = Drawn(contig, drawn.bases, [(0, READ, position)])
        maker.add(name, flag | SECONDARY, copy, "gap")
    drawn = maker.draw("one", maker.around(deletion))
    maker.add(name, PAIRED | SECOND | REVERSE, drawn, style)


def _alone(maker: Maker, n: int) -> None:
    """Add reads without mates, and pairs that are at no locus."""
    drawn = maker.draw("one", maker.around(LOCI[n % 2]))
    maker.add(f"single{n}", REVERSE * (n % 2), drawn, maker.style(n))
    maker.add(f"away{n}", PAIRED | FIRST, maker.draw("one", 15_000 + 7 * n), "gap")
    maker.add(f"away{n}", PAIRED | SECOND | REVERSE, maker.draw("one", 15_200 + 9 * n), "gap")


def _haplotypes(contigs: dict[str, str]) -> Iterator[str]:
    for x in LOCI:
        bases = contigs[x.contig]
        other = bases[x.start : x.position] + x.inserted + bases[x.position + x.deleted : x.end]
        for name, sequence in (("reference", bases[x.start : x.end]), ("sample", other)):
            yield f">{x.name}_{name} {x.contig}:{x.start + 1}-{x.end}\n{sequence}\n"


def _runs(positions: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield runs of bases that are adjacent in the reference."""
    numbered = [(row, position) for row, position in enumerate(positions) if position >= 0]
    for _, run in groupby(numbered, key=lambda pair: pair[1] - pair[0]):
        members = list(run)
        yield members[0][0], len(members), members[0][1]


def _gapped(runs: Sequence[tuple[int, int, int]]) -> str:
    parts = [(runs[0][1], "M")]
    for (first, length, start), (second, number, position) in pairwise(runs):
        parts += [(second - first - length, "I"), (position - start - length, "D"), (number, "M")]
    return _text(parts)


def _shifted(runs: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Move the first gap to the right, over bases that then mismatch."""
    if len(runs) < 2 or runs[1][1] <= 2 * SHIFT:
        return list(runs)
    (first, length, start), (second, number, position) = runs[:2]
    right = second + SHIFT, number - SHIFT, position + SHIFT
    return [(first, length + SHIFT, start), right, *runs[2:]]


def _text(parts: Sequence[tuple[int, str]]) -> str:
    return "".join(f"{length}{code}" for length, code in parts if length)


def _merged(text: str) -> str:
    """Remove empty operations, and join equal neighbours."""
    parts = [part for part in cigar_of(text) if part[0]]
    runs = groupby(parts, key=lambda part: part[1])
    return _text([(sum(length for length, _ in run), code) for code, run in runs])


def _finish(records: Sequence[Sam], bases: Bases) -> None:
    """Add NM, MD, AS and SA, and 0x2 to pairs that point at each other within 1,000 bases."""
    for record in records:
        if not record.is_unmapped:
            edits = edits_of(record, bases)
            matches = sum(n for n, code in record.cigar if code == "M")
            score = max(0, matches - 5 * edits.distance)
            record.columns += [f"NM:i:{edits.distance}", f"MD:Z:{edits.md}", f"AS:i:{score}"]
    for _, group in groupby(records, key=lambda record: record.name):
        members = list(group)
        _add_supplements(members)
        primary = [record for record in members if record.is_primary]
        positions = [record.position for record in primary]
        if (
            len(primary) == 2
            and may_be_proper(*primary)
            and max(positions) < min(positions) + 1_000
        ):
            for record in members:
                record.columns[1] = str(int(record.columns[1]) | PROPER)


def _add_supplements(members: Sequence[Sam]) -> None:
    parts = [r for r in members if not r.flag & SECONDARY and not r.is_unmapped]
    for record in parts:
        others = [x for x in parts if x is not record and (x.flag ^ record.flag) & 0xC0 == 0]
        if entries := "".join(f"{_supplement(x)};" for x in others):
            record.columns.append(f"SA:Z:{entries}")


def _supplement(record: Sam) -> str:
    strand = "-" if record.flag & REVERSE else "+"
    distance = next(x[5:] for x in record.columns[11:] if x.startswith("NM:"))
    cigar = record.cigar_text.replace("H", "S")
    return f"{record.contig},{record.position},{strand},{cigar},{record.columns[4]},{distance}"


def _write(directory: Path, maker: Maker, reference: Path) -> dict[str, Path]:
    """Write all formats, with the mate fields that samtools fixmate makes."""
    sequences = [f"@SQ\tSN:{name}\tLN:{length}" for name, length in LENGTHS.items()]
    header = [*sequences, "@RG\tID:made\tSM:sample"]
    raw, fixed = directory / "raw.sam", directory / "fixed.sam"
    _write_sam(raw, ["@HD\tVN:1.6\tSO:unsorted", *header], maker.records)
    pysam.samtools.fixmate("--no-PG", "-O", "sam", str(raw), str(fixed))
    records = read_records(fixed)
    _point_secondary(records)
    paths = {"sorted": directory / "reads.bam", "by_name": directory / "by_name.bam"}
    paths |= {"shuffled": directory / "shuffled.bam", "sam": directory / "reads.sam"}
    paths |= {"cram": directory / "reads.cram"}
    _write_sam(fixed, header_lines(fixed), records)
    pysam.sort("--no-PG", "-o", str(paths["sorted"]), str(fixed))
    pysam.index(str(paths["sorted"]))
    pysam.sort("-n", "--no-PG", "-o", str(paths["by_name"]), str(fixed))
    _view(paths["sorted"], paths["sam"], "-h")
    _view(paths["sorted"], paths["cram"], "-C", "-T", str(reference))
    pysam.index(str(paths["cram"]))
    maker.random.shuffle(records)
    _write_sam(raw, ["@HD\tVN:1.6\tSO:unsorted", *header], records)
    _view(raw, paths["shuffled"], "-b")
    raw.unlink()
    fixed.unlink()
    return paths


def _view(source: Path, out: Path, *options: str) -> None:
    pysam.view(*options, "--no-PG", "-o", str(out), str(source), catch_stdout=False)


def _write_sam(path: Path, header: Sequence[str], records: Sequence[Sam]) -> None:
    lines = [*header, *("\t".join(record.columns) for record in records)]
    path.write_text("".join(f"{line}\n" for line in lines))


def _point_secondary(records: Sequence[Sam]) -> None:
    """Fill the mate fields of secondary records, which fixmate does not change."""
    primary = {(r.name, r.flag & 0xC0): r for r in records if r.is_primary}
    for record in records:
        if record.flag & SECONDARY:
            mate = primary[record.name, (record.flag ^ 0xC0) & 0xC0]
            record.columns[6] = "=" if mate.contig == record.contig else mate.contig
            record.columns[7] = mate.columns[3]
            flag = record.flag & ~(MATE_REVERSE | MATE_UNMAPPED)
            record.columns[1] = str(flag | (MATE_REVERSE if mate.flag & REVERSE else 0))
            record.columns += [f"MC:Z:{mate.cigar_text}", f"MQ:i:{mate.columns[4]}"]
