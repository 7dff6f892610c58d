"""Variants with the genotypes of samples: what `call` and `genotype` return in common."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.tables import Columns, data_frame, names_column

if TYPE_CHECKING:
    import pandas as pd

_Variants = TypeVar("_Variants", bound="CalledVariants")
_COMMON: Final = frozenset({"samples", "contig_names"})
"""Fields that are the same in all parts of a run."""
NO_COPY: Final = -2
"""Instead of an allele: of a copy that a sample of a lower ploidy does not have."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class CalledVariants(Columns):
    """v variants with the genotypes of m samples.

    Subclasses, such as `Calls`, describe the attributes.
    """

    samples: tuple[str, ...]
    contig_names: tuple[str, ...]
    contigs: NDArray[np.int32]
    positions: NDArray[np.int64]
    alleles: tuple[tuple[str, ...], ...]
    qualities: NDArray[np.float64]
    genotypes: NDArray[np.int16]
    genotype_qualities: NDArray[np.int16]
    depths: NDArray[np.int32]
    allele_depths: Ragged
    phred_likelihoods: Ragged

    def __len__(self) -> int:
        return self.positions.size

    @staticmethod
    def empty_columns(
        samples: tuple[str, ...], contig_names: tuple[str, ...], ploidy: int
    ) -> dict[str, Any]:
        """Return the columns of no variants of some samples."""
        count = len(samples)
        no_rows = Ragged(np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
        return {
            "samples": samples,
            "contig_names": contig_names,
            "contigs": np.empty(0, dtype=np.int32),
            "positions": np.empty(0, dtype=np.int64),
            "alleles": (),
            "qualities": np.empty(0),
            "genotypes": np.empty((0, count, ploidy), dtype=np.int16),
            "genotype_qualities": np.empty((0, count), dtype=np.int16),
            "depths": np.empty((0, count), dtype=np.int32),
            "allele_depths": no_rows,
            "phred_likelihoods": no_rows,
        }

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Concatenate the variants of parts of a run, at least one."""
        columns = {
            each.name: _joined(each.name, [getattr(part, each.name) for part in parts])
            for each in fields(cls)
        }
        return cls(**columns)

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table of pandas with a row per variant and sample, variant by variant.

        Its columns are `contig` (name), `position` (0-based), further columns of the variant,
        `ref`, `alt` (joined by commas, `.` for none), `quality`, `sample`, `genotype` (text as in
        VCF, such as `0/1`), `genotype_quality`, `depth`, and as lists `allele_depths` and
        `phred_likelihoods`.

        Raises
        ------
        UsageError
            pandas is not installed.
        """
        count = len(self.samples)
        of_variants = {
            "contig": names_column(self.contigs, self.contig_names),
            "position": self.positions,
            **self._further_columns(),
            "ref": _objects([alleles[0] for alleles in self.alleles]),
            "alt": _objects([",".join(alleles[1:]) or "." for alleles in self.alleles]),
            "quality": self.qualities,
        }
        sample_numbers = np.tile(np.arange(count), len(self))
        return data_frame(
            {
                **{name: column.repeat(count) for name, column in of_variants.items()},
                "sample": names_column(sample_numbers, self.samples),
                "genotype": _genotype_texts(self.genotypes),
                "genotype_quality": self.genotype_qualities.ravel(),
                "depth": self.depths.ravel(),
                "allele_depths": self.allele_depths.to_list(),
                "phred_likelihoods": self.phred_likelihoods.to_list(),
            }
        )

    def _further_columns(self) -> dict[str, NDArray[Any]]:
        """Return columns of the variants that only a subclass has, by name."""
        return {}


def _joined(name: str, columns: Sequence[Any]) -> Any:
    first = columns[0]
    if name in _COMMON:
        return first
    if isinstance(first, Ragged):
        return Ragged.concatenate(columns)
    if isinstance(first, np.ndarray):
        return np.concatenate(columns)
    if isinstance(first, dict):
        return {key: np.concatenate([column[key] for column in columns]) for key in first}
    return tuple(chain.from_iterable(columns))


def _objects(texts: Sequence[str]) -> NDArray[np.object_]:
    return np.array(texts, dtype=np.object_)


def _genotype_texts(genotypes: NDArray[np.int16]) -> NDArray[np.object_]:
    """Return text as in VCF of int16[v, m, ploidy], variant by variant; `NO_COPY` is no text."""
    distinct, numbers = np.unique(
        genotypes.reshape(-1, genotypes.shape[2]), axis=0, return_inverse=True
    )
    texts = [
        "/".join("." if a < 0 else str(a) for a in row if a != NO_COPY) for row in distinct.tolist()
    ]
    return _objects(texts)[numbers.ravel()]


def not_empty(parts: Generator[_Variants]) -> Generator[_Variants]:
    """Yield the parts with variants; closing the generator closes `parts`."""
    with closing(parts):
        yield from filter(len, parts)
