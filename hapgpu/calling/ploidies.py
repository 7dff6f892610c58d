"""Ploidies: the number of copies of each sample, by region.

Options of commands import this module, so it imports NumPy only when regions are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hapgpu.io.genome.regions import Region

DIPLOID: Final = 2
"""Copies of most contigs; phases and ExcessHet are defined for this ploidy only."""


MAX_PLOIDY: Final = 100
"""A site of three alleles has 5,151 genotypes of so many copies."""


class PloidyRegion(NamedTuple):
    """Region whose samples have `ploidy` copies, at least 1."""

    region: Region
    ploidy: int


class _OfContig(NamedTuple):
    """Regions of a contig: int64[k] each, disjoint and ascending."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    ploidies: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Ploidies:
    """Copies of all samples: a default, and those of regions.

    Attributes
    ----------
    default
        Copies outside all regions, at least 1.
    contigs
        The regions by the name of the contig; `Ploidies.of` makes them.
    highest
        The highest ploidy, of the regions and outside of them.
    is_diploid
        Whether all bases of all contigs have two copies.
    """

    default: int = DIPLOID
    contigs: Mapping[str, _OfContig] = field(default_factory=dict)
    highest: int = field(init=False)
    is_diploid: bool = field(init=False)

    def __post_init__(self) -> None:
        """Look at all regions once: there may be some on each of 500,000 contigs."""
        found = {self.default}
        found.update(ploidy for of in self.contigs.values() for ploidy in of.ploidies.tolist())
        object.__setattr__(self, "highest", max(found))
        object.__setattr__(self, "is_diploid", found == {DIPLOID})

    @classmethod
    def of(cls, default: int, regions: Iterable[PloidyRegion]) -> Ploidies:
        """Return ploidies; a base in several regions has the largest of theirs."""
        groups: dict[str, list[PloidyRegion]] = {}
        for found in regions:
            groups.setdefault(found.region.contig, []).append(found)
        return cls(default, {contig: _disjoint(members) for contig, members in groups.items()})

    def at(
        self, contig: str, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return int64[n]: the ploidy of intervals of a contig.

        It is the largest of the regions that an interval overlaps, also if it is smaller than the
        default; without any, the default. Source: `HaplotypeCallerEngine` of broadinstitute/gatk,
        which asks for each position (activity) and for the active span of each region (the rest).

        Parameters
        ----------
        contig
            Name of the contig.
        starts, ends
            int64[n], 0-based, half-open, not empty.
        """
        import numpy as np  # noqa: PLC0415  (see above)

        out = np.full(starts.size, self.default, dtype=np.int64)
        regions = self.contigs.get(contig)
        if regions is None or not starts.size:
            return out
        firsts = np.searchsorted(regions.ends, starts, side="right")
        lasts = np.searchsorted(regions.starts, ends, side="left")
        # Each range is followed by the gap up to the next one, which is computed, too, and dropped.
        bounds = np.column_stack([firsts, lasts]).ravel()
        values = np.append(regions.ploidies, 0)
        largest = np.maximum.reduceat(values, bounds)[::2]
        return np.where(firsts < lasts, largest, out)


def _disjoint(members: list[PloidyRegion]) -> _OfContig:
    """Cut regions of one contig where they overlap; the largest ploidy counts."""
    import numpy as np  # noqa: PLC0415  (see above)

    members = sorted(members)
    bounds = sorted({b for m in members for b in (m.region.start, m.region.end)})
    cut: list[tuple[int, int, int]] = []
    waiting: list[tuple[int, int]] = []  # of the regions that have started: -ploidy, end
    number = 0
    for start, end in pairwise(bounds):
        while number < len(members) and members[number].region.start <= start:
            heappush(waiting, (-members[number].ploidy, members[number].region.end))
            number += 1
        while waiting and waiting[0][1] <= start:
            heappop(waiting)
        if not waiting:
            continue
        ploidy = -waiting[0][0]
        if cut and cut[-1][1:] == (start, ploidy):
            cut[-1] = (cut[-1][0], end, ploidy)
        else:
            cut.append((start, end, ploidy))
    columns = np.array(cut, dtype=np.int64).reshape(-1, 3).T
    return _OfContig(*map(np.ascontiguousarray, columns))


DIPLOID_EVERYWHERE: Final = Ploidies()
