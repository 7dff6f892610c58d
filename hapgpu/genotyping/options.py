"""Options of genotyping."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from hapgpu.errors import UsageError
from hapgpu.pairhmm.options import PcrModel

MAX_PLOIDY: Final = 4
_SHARD: Final = re.compile(r"([0-9]{1,9})/([0-9]{1,9})", re.ASCII)


class Prior(StrEnum):
    """Kind of genotype prior: flat, or from population allele frequencies."""

    FLAT = "flat"
    POPULATION = "population"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenotypeOptions:
    """Options of genotyping.

    Attributes
    ----------
    ploidy
        Copies of the genome in each sample, 1 to `MAX_PLOIDY`.
    prior
        Prior of genotypes.
    pcr_model
        Model of PCR indel errors in repeats.
    min_mapping_quality
        Reads with a lower MAPQ are excluded.
    """

    ploidy: int = 2
    prior: Prior = Prior.POPULATION
    pcr_model: PcrModel = PcrModel.CONSERVATIVE
    min_mapping_quality: int = 20


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` of `count` parts of the sites.

    Attributes
    ----------
    number
        From 1 to `count`.
    count
        Number of parts.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `K/N`.

        Raises
        ------
        UsageError
            The text has another form, or K is not from 1 to N.
        """
        found = _SHARD.fullmatch(text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise UsageError(f"'{text}': must be K/N, with K from 1 to N")
        return cls(int(found[1]), int(found[2]))

    def rows(self, records: Iterable[Sized]) -> range:
        """Return the rows of this part among all records: equally many for each, to one row."""
        rows = sum(map(len, records))
        return range(rows * (self.number - 1) // self.count, rows * self.number // self.count)
