"""Groups of alleles that combine on haplotypes, without genotypes."""

from __future__ import annotations

import numpy as np

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.haplotypes.batches import AlleleKind, Loci, PhaseGroups, Sites


def phase_groups_of_sites(sites: Sites, loci: Loci) -> PhaseGroups:
    """Return the phase groups of any combination of alleles: one set per locus, a group per site.

    The options of a site are REF, the base option, and each ALT with a sequence, in their order.
    """
    is_reference = np.zeros(sites.kinds.size, dtype=np.bool_)
    is_reference[sites.allele_offsets[:-1]] = True
    is_option = is_reference | (sites.kinds == AlleleKind.SEQUENCE)
    rows = np.flatnonzero(is_option & ~is_reference).astype(np.int32)
    option_ends = np.append(0, np.cumsum(is_option))
    return PhaseGroups(
        np.arange(len(loci)),
        loci.site_offsets,
        option_ends[sites.allele_offsets],
        Ragged(rows, offsets_of(~is_reference[is_option])),
    )
