"""Shards of a list of sites: equal parts, each genotyped by a run of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from hapgpu.errors import UsageError
from hapgpu.io.vcf.batches import VcfBatch

_SHARD: Final = re.compile(r"([0-9]{1,9})/([0-9]{1,9})", re.ASCII)


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

    def rows(self, records: Iterable[VcfBatch]) -> range:
        """Return the rows of this part among all records: equally many for each, to one row."""
        rows = sum(map(len, records))
        return range(rows * (self.number - 1) // self.count, rows * self.number // self.count)
