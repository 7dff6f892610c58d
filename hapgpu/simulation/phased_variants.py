"""Variants of one sample with phased genotypes: their VCF, and the chromosome copies with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.haplotypes.batches import AlleleKind, ReferenceSlice, Sites
from hapgpu.haplotypes.sites.trimmed_alleles import TrimmedAlleles, trimmed_alleles_of
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.runtime.jit import njit


@dataclass(frozen=True, slots=True)
class PhasedVariants:
    """v variants of one contig, in the order of their positions, on P chromosome copies.

    Attributes
    ----------
    starts
        int64[v], 0-based position of the first base of REF.
    alleles
        uint8 text, upper case, a rows: REF and each ALT, variant by variant.
    allele_offsets
        int64[v + 1]: the alleles of variant i are rows `allele_offsets[i]` (REF) to
        `allele_offsets[i + 1]`.
    genotypes
        int8[v, P]: the number of the allele that each copy carries; 0 is REF.
    """

    starts: NDArray[np.int64]
    alleles: Ragged
    allele_offsets: NDArray[np.int64]
    genotypes: NDArray[np.int8]

    @classmethod
    def from_rows(
        cls,
        starts: Sequence[int],
        alleles: Sequence[Sequence[str]],
        genotypes: Sequence[Sequence[int]],
        ploidy: int = 2,
    ) -> PhasedVariants:
        """Put variants, each given by its start, its alleles and its genotype, into columns.

        `ploidy` is the number of alleles per genotype; it has to be given if there are none.
        """
        return cls(
            np.array(starts, dtype=np.int64),
            Ragged.from_sequences(text for row in alleles for text in row),
            offsets_of([len(row) for row in alleles]),
            np.array(genotypes, dtype=np.int8).reshape(len(starts), ploidy),
        )

    def __len__(self) -> int:
        return self.starts.size

    @property
    def ploidy(self) -> int:
        """Number of chromosome copies."""
        return int(self.genotypes.shape[1])

    @property
    def ends(self) -> NDArray[np.int64]:
        """int64[v], 0-based end of REF, half-open."""
        ends: NDArray[np.int64] = self.starts + self.alleles.lengths[self.allele_offsets[:-1]]
        return ends

    @property
    def sites(self) -> Sites:
        """The variants as sites, without records."""
        kinds = np.full(len(self.alleles), AlleleKind.SEQUENCE, dtype=np.uint8)
        return Sites(VcfBatch.empty(""), self.starts, self.alleles, kinds, self.allele_offsets)

    def texts(self, variant: int) -> list[str]:
        """Return REF and the ALTs of one variant."""
        first, last = self.allele_offsets[[variant, variant + 1]]
        return [self.alleles[row].tobytes().decode() for row in range(first, last)]

    def take(self, rows: NDArray[np.int64]) -> PhasedVariants:
        """Return the variants of ascending `rows`, int64[k]."""
        counts = np.diff(self.allele_offsets)[rows]
        allele_rows = Ragged.gather(
            np.arange(len(self.alleles)), self.allele_offsets[:-1][rows], counts
        ).data
        return PhasedVariants(
            self.starts[rows],
            self.alleles.take(allele_rows),
            offsets_of(counts),
            self.genotypes[rows],
        )

    def tiled(self, period: int, times: int) -> PhasedVariants:
        """Repeat all variants, each time `period` bases further right."""
        shifts = np.repeat(np.arange(times) * period, len(self))
        counts = np.tile(np.diff(self.allele_offsets), times)
        return PhasedVariants(
            np.tile(self.starts, times) + shifts,
            Ragged.from_lengths(
                np.tile(self.alleles.data, times), np.tile(self.alleles.lengths, times)
            ),
            offsets_of(counts),
            np.tile(self.genotypes, (times, 1)),
        )

    def check(self, reference: ReferenceSlice) -> None:
        """Check that the variants can be put into a reference.

        Raises
        ------
        ValueError
            They are not sorted or lie outside the slice, a REF differs from the reference, or a
            genotype names an allele that its variant does not have.
        """
        if (np.diff(self.starts) < 0).any():
            raise ValueError("variants: not in the order of their positions; sort them")
        if len(self) and (self.starts[0] < reference.start or self.ends.max() > reference.end):
            raise ValueError("variants: one lies outside the reference; remove it")
        counts = np.diff(self.allele_offsets)[:, None]
        if ((self.genotypes < 0) | (self.genotypes >= counts)).any():
            raise ValueError("variants: a genotype names an allele that its variant does not have")
        expected = Ragged.gather(
            reference.bases,
            self.starts - reference.start,
            self.alleles.lengths[self.allele_offsets[:-1]],
        )
        if not np.array_equal(expected.data, self.alleles.take(self.allele_offsets[:-1]).data):
            raise ValueError(
                "variants: a REF differs from the reference; give the reference of the variants"
            )


def vcf_text(
    variants: PhasedVariants, contig: str, contig_length: int, sample: str | None = None
) -> str:
    """Return the VCF of variants.

    Parameters
    ----------
    variants
        Variants of `contig`.
    contig, contig_length
        Name and length.
    sample
        Name of the sample to write the phased genotypes of; None for the sites alone.
    """
    columns = ["CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO"]
    lines = ["##fileformat=VCFv4.3", f"##contig=<ID={contig},length={contig_length}>"]
    if sample is not None:
        columns += ["FORMAT", sample]
        lines.append('##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">')
    lines.append("#" + "\t".join(columns))
    for variant, start in enumerate(variants.starts.tolist()):
        reference, *alternatives = variants.texts(variant)
        line = f"{contig}\t{start + 1}\t.\t{reference}\t{','.join(alternatives)}\t.\t.\t."
        if sample is not None:
            line += "\tGT\t" + "|".join(map(str, variants.genotypes[variant].tolist()))
        lines.append(line)
    return "\n".join(lines) + "\n"


INSERTED: Final = -1
"""The position of a base that the reference does not have."""


@dataclass(frozen=True, slots=True)
class CopyEdits:
    """e changes of the reference on one chromosome copy, ascending, without overlap.

    Attributes
    ----------
    starts, ends
        int64[e], 0-based, half-open: the bases replaced; empty for an insertion before `starts`.
    sequences
        uint8 text, e rows: their replacements. Neither their first nor their last base equals the
        first or last base replaced.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    sequences: Ragged

    def within(self, start: int, end: int) -> CopyEdits:
        """Return the changes that lie wholly within an interval of the reference."""
        first = int(np.searchsorted(self.starts, start))
        last = max(int(np.searchsorted(self.ends, end, side="right")), first)
        return CopyEdits(
            self.starts[first:last],
            self.ends[first:last],
            self.sequences[first:last],
        )


@dataclass(frozen=True, slots=True)
class ChromosomeCopy:
    """n consecutive bases of one chromosome copy.

    Attributes
    ----------
    bases
        uint8 text.
    positions
        int64[n], ascending: the reference position that each base is aligned to, or `INSERTED`.
        Insertions and deletions are left-aligned, as far as that adds no mismatch.
    """

    bases: NDArray[np.uint8]
    positions: NDArray[np.int64]

    def first_from(self, position: int) -> int:
        """Return the first base aligned to this position or a later one; n if there is none."""
        is_after = self.positions >= position
        return int(is_after.argmax()) if is_after.any() else self.positions.size


def copy_edits(variants: PhasedVariants) -> list[CopyEdits]:
    """Return the changes of each chromosome copy.

    Raises
    ------
    ValueError
        Two variants overlap on a copy.
    """
    trimmed = trimmed_alleles_of(variants.sites)
    return [_edits_of_copy(variants, copy, trimmed) for copy in range(variants.ploidy)]


def _edits_of_copy(variants: PhasedVariants, copy: int, trimmed: TrimmedAlleles) -> CopyEdits:
    carried = np.flatnonzero(variants.genotypes[:, copy] > 0)
    rows = variants.allele_offsets[carried] + variants.genotypes[carried, copy]
    starts, ends = trimmed.starts[rows], trimmed.ends[rows]
    if (starts[1:] < ends[:-1]).any():
        raise ValueError(f"variants: two overlap on chromosome copy {copy + 1}; remove one")
    text_starts = trimmed.text_starts[rows]
    return CopyEdits(
        starts,
        ends,
        Ragged.gather(trimmed.text, text_starts, trimmed.text_ends[rows] - text_starts),
    )


def chromosome_copy(
    reference: ReferenceSlice, edits: CopyEdits, start: int, end: int
) -> ChromosomeCopy:
    """Make part of a chromosome copy, with the changes that lie wholly within it.

    Parameters
    ----------
    reference
        The contig, or part of it.
    edits
        Changes of the copy.
    start, end
        Interval of the reference, within `reference`, 0-based, half-open.
    """
    edits = edits.within(start, end)
    grown = int(edits.sequences.offsets[-1] - (edits.ends - edits.starts).sum())
    bases = np.empty(end - start + grown, dtype=np.uint8)
    positions = np.empty(bases.size, dtype=np.int64)
    _put_copy(
        read_only(reference.bases[start - reference.start : end - reference.start]),
        start,
        read_only(edits.starts),
        read_only(edits.ends),
        view_of(edits.sequences),
        bases,
        positions,
    )
    return ChromosomeCopy(bases, positions)


@njit
def _put_copy(
    reference: NDArray[np.uint8],
    start: Integer,
    edit_starts: NDArray[np.int64],
    edit_ends: NDArray[np.int64],
    sequences: RaggedView,
    bases: NDArray[np.uint8],
    positions: NDArray[np.int64],
) -> None:
    """Write a copy of the reference with edits, and the position of each base."""
    texts, text_offsets = sequences
    at = 0
    position = start
    for edit in range(edit_starts.size + 1):
        is_last = edit == edit_starts.size
        end = start + reference.size if is_last else edit_starts[edit]
        while position < end:
            bases[at], positions[at] = reference[position - start], position
            at += 1
            position += 1
        if is_last:
            break
        text_start = text_offsets[edit]
        added = text_offsets[edit + 1] - text_start
        removed = edit_ends[edit] - position
        for k in range(added):
            bases[at + k] = texts[text_start + k]
            to_end = added - k  # insertions come before the aligned bases
            positions[at + k] = INSERTED if to_end > removed else edit_ends[edit] - to_end
        if removed == 0:
            _shift_insertion(bases, positions, at, added)
        elif added == 0:
            _shift_deletion(reference, start, bases, positions, at - 1, edit_ends[edit])
        at += added
        position = edit_ends[edit]


@njit
def _shift_insertion(
    bases: NDArray[np.uint8], positions: NDArray[np.int64], first: Integer, count: Integer
) -> None:
    """Left-align an insertion that starts at base `first`, as far as its unit is repeated."""
    while (
        first > 1
        and positions[first - 2] != INSERTED
        and positions[first - 2] + 1 == positions[first - 1]
        and bases[first - 1] == bases[first + count - 1]
    ):
        first -= 1
        positions[first + count], positions[first] = positions[first], INSERTED


@njit
def _shift_deletion(
    reference: NDArray[np.uint8],
    start: Integer,
    bases: NDArray[np.uint8],
    positions: NDArray[np.int64],
    last: Integer,
    end: Integer,
) -> None:
    """Left-align a deletion after base `last` and up to position `end`, as far as bases repeat."""
    while (
        last > 0
        and positions[last - 1] != INSERTED
        and positions[last - 1] + 1 == positions[last]
        and bases[last] == reference[end - 1 - start]
    ):
        end -= 1
        positions[last] = end
        last -= 1
