"""Variants of one sample with phased genotypes, and their VCF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.haplotypes.batches import AlleleKind, ReferenceSlice, Sites
from hapgpu.io.vcf.batches import VcfBatch


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
        """Return the variants of ascending rows."""
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
