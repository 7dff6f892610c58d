"""The limits at which a read moves: literal cases of the rule in docs/methods/realign.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings, parse_cigar
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.regions import Region
from hapgpu.realign.cpu import open_mover
from hapgpu.realign.mover import MoveTask
from hapgpu.realign.options import BestBy
from hapgpu.realign.projection.placement import place_haplotypes
from hapgpu.realign.realigner import RealignOptions
from hapgpu.realign.scoring import PRESETS
from hapgpu.runtime.devices import CpuDevice
from tests.io.sam_oracle import Row, batch_of

AT = 150  # where alleles differ from the reference, as far from both ends of the contig
RUN = "AAAAAA"


def around(seed: int) -> tuple[str, str]:
    """Return bases before and after an allele; no A is next to it."""
    bases = "".join(np.random.default_rng(seed).choice(list("ACGT"), 2 * (AT - 1)))
    return bases[: AT - 1] + "C", "G" + bases[AT - 1 :]


@dataclass(frozen=True)
class Locus:
    """A contig, which is one locus, and its haplotypes."""

    directory: Path
    reference: str
    haplotypes: tuple[str, ...]

    def moved(
        self,
        read: tuple[int, str, str],
        *,
        best_by: BestBy = BestBy.SCORE,
        quality: int | None = 60,
    ) -> str | None:
        """Return the new CIGAR of a read, (position, CIGAR, bases); None if it stays."""
        path, length = self.directory / "reference.fa", len(self.reference)
        path.write_text(f">a\n{self.reference}\n", encoding="ascii")
        pysam.faidx(str(path))
        haplotypes = HaplotypeSet(
            tuple(f"h{k}" for k in range(len(self.haplotypes))),
            Ragged.from_sequences(self.haplotypes),
            (Region("a", 20, length - 20),),
            np.zeros(len(self.haplotypes), dtype=np.int32),
        )
        options = RealignOptions(
            scoring=PRESETS["read-to-haplotype"],
            best_by=best_by,
            min_score=0.0,
            always=False,
            write_all=False,
            require_flags=0,
            exclude_flags=0,
        )
        position, cigar, bases = read
        elements = tuple((int(x) & 15, int(x) >> 4) for x in parse_cigar(cigar))
        qualities = None if quality is None else (quality,) * len(bases)
        row = Row("r", 0, 0, position, 60, elements, -1, -1, 0, bases, qualities, ())
        header, cpu = SamHeader.from_references(("a",), (length,)), CpuDevice(1)
        placement = place_haplotypes(haplotypes, path, header, cpu)
        task = MoveTask(placement, header, options, "x.bam")
        moves = open_mover(task, cpu)(batch_of([row])).content
        return cigar_strings(moves.cigars)[0] if len(moves) else None


def locus_of(directory: Path, reference: str, *haplotypes: str) -> Locus:
    return Locus(directory, reference, tuple(text[20:-20] for text in haplotypes))


@pytest.mark.parametrize(
    ("wrong", "second", "is_paid"),
    [
        pytest.param(10, 3, True, id="gain 250, growth 5"),
        pytest.param(9, 2, False, id="gain 225, growth 5"),
        pytest.param(12, 5, True, id="gain 300, growth 5"),
        pytest.param(12, 6, False, id="gain 300, growth 6"),
    ],
)
def test_at_most_five_differences_are_added(
    tmp_path: Path, wrong: int, second: int, *, is_paid: bool
) -> None:
    """Mismatches at A become two deletions of A: one of 15, which counts 12, and a second."""
    before, after = around(1)
    between, tail = "CGTC", "GTTGCGCT"
    reference = before + "A" * 15 + between + "A" * second + tail + after
    haplotype = before + between + tail + after
    bases = before[-60:] + (between + tail)[:wrong]
    read = (AT - 60, f"{len(bases)}M", bases)
    new = f"60M15D4M{second}D{wrong - 4}M"
    assert locus_of(tmp_path, reference, haplotype).moved(read) == (new if is_paid else None)


def test_a_likelier_haplotype_without_a_gain(tmp_path: Path) -> None:
    """The reference explains a read as its old alignment does, and the read stays.

    The old alignment, 5 A of 6 with the deletion at their end, scores 650 - 30, as the same with
    the deletion at their start. A haplotype with the deletion and an SNV scores 650 - 25, but at
    a quality of 60 the SNV is less likely than the deletion.
    """
    before, after = around(2)
    reference = before + RUN + after
    other = before + RUN[1:] + after[:20] + ("A" if after[20] == "C" else "C") + after[21:]
    read = (AT - 30, "35M1D30M", before[-30:] + RUN[1:] + after[:30])
    locus = locus_of(tmp_path, reference, reference, other)
    assert locus.moved(read) == "30M1D35M"
    assert locus.moved(read, best_by=BestBy.LIKELIHOOD) is None


def test_a_read_that_scores_the_same_needs_no_qualities(tmp_path: Path) -> None:
    """Without qualities there are no likelihoods; a read that cannot gain does not need them."""
    before, after = around(2)
    reference = before + RUN + after
    read = (AT - 30, "35M1D30M", before[-30:] + RUN[1:] + after[:30])
    locus = locus_of(tmp_path, reference, reference, before + RUN + "C" + after)
    assert locus.moved(read, best_by=BestBy.LIKELIHOOD, quality=None) is None
