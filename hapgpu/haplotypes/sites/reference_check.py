"""Reference bases of sites, and the check of REF against them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.haplotypes.batches import AlleleKind, ReferenceSlice, Sites
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region, contig_hint
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.runtime.jit import njit

_FIRST_BASE_OF_CODE: Final = dict(zip("RYSWKMBDHV", "ACCAGACAAA", strict=True))
"""Base that replaces an ambiguity code in REF (VCF 4.3, section 1.6.1)."""

_ALL_BYTES: Final = bytes(range(256))
_UPPER: Final = np.frombuffer(_ALL_BYTES.upper(), dtype=np.uint8)
_PLAIN_BASES: Final = np.frombuffer(
    bytes.maketrans(
        "".join(_FIRST_BASE_OF_CODE).encode(), "".join(_FIRST_BASE_OF_CODE.values()).encode()
    ),
    dtype=np.uint8,
)

_ANY: Final = "N"


def reference_slice(reference: ReferenceFasta, contig: str, start: int, end: int) -> ReferenceSlice:
    """Read the bases start to end of a contig, clipped to the contig.

    Raises
    ------
    InputError
        The contig is not in the reference, or the file is damaged.
    """
    region = Region(contig, max(start, 0), min(end, reference.lengths.get(contig, end)))
    bases = np.frombuffer(reference.fetch(region), dtype=np.uint8)
    return ReferenceSlice(region.start, _translated(bases, _UPPER))


def check_positions(sites: Sites, reference: ReferenceFasta, source: str) -> None:
    """Check that sites of one contig, at least one, lie within the reference.

    Parameters
    ----------
    sites
        Sites of the file `source`.
    reference
        The reference of the sites.
    source
        Name of the file, for errors.

    Raises
    ------
    InputError
        The reference lacks the contig, or a REF ends after the end of the contig; the message
        names the record.
    """
    contig = sites.records.contig
    length = reference.lengths.get(contig)
    if length is None:
        hint = contig_hint(contig, reference.lengths)
        label = sites.records[0].label
        raise InputError(
            f"{source}, {label}: contig '{contig}' is not in {reference.path}{hint};"
            " give the reference that the variants were called with"
        )
    outside = np.flatnonzero(sites.ends > length)
    if outside.size:
        record = sites.records[int(outside[0])]
        raise InputError(
            f"{source}, {record.label}: REF at {_position(record, 0)} ends after the"
            f" {length:,} bases of its contig in {reference.path}; give the reference that the"
            " variants were called with"
        )


def check_reference_alleles(
    sites: Sites, slice_: ReferenceSlice, reference: ReferenceFasta, source: str
) -> None:
    """Check that each REF equals the reference, ignoring case.

    For an ambiguity code of the reference, REF may have the first of its bases in the alphabet, or
    N. If no ALT has a sequence, N in REF matches any base.

    Parameters
    ----------
    sites
        Sites of one contig.
    slice_
        Reference bases that cover all sites.
    reference
        The reference of the bases.
    source
        Name of the file of the sites, for errors.

    Raises
    ------
    InputError
        A REF differs; the message names its record and both bases.
    """
    alleles = sites.alleles.take(sites.allele_offsets[:-1])
    expected = Ragged.gather(slice_.bases, sites.starts - slice_.start, alleles.lengths)
    for at in np.flatnonzero(alleles.data != expected.data).tolist():
        site = int(np.searchsorted(alleles.offsets, at, side="right")) - 1
        given, found = chr(alleles.data[at]), chr(expected.data[at])
        if given == _ANY and (found in _FIRST_BASE_OF_CODE or not _has_sequences(sites, site)):
            continue
        if given != _FIRST_BASE_OF_CODE.get(found):
            record = sites.records[site]
            raise InputError(
                f"{source}, {record.label}: REF has {given} at"
                f" {_position(record, at - int(alleles.offsets[site]))}, where {reference.path}"
                f" has {found}; give the reference that the variants were called with"
            )


def plain_bases(slice_: ReferenceSlice) -> ReferenceSlice:
    """Replace ambiguity codes by the first of their bases in the alphabet, as REF does; N stays.

    A haplotype with such a code would match no read, and no read would support the REF allele.
    """
    return ReferenceSlice(slice_.start, _translated(read_only(slice_.bases), _PLAIN_BASES))


@njit
def _translated(text: NDArray[np.uint8], table: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Replace each byte by its entry in a table; unlike `bytes.translate`, without the GIL."""
    out = np.empty(text.size, np.uint8)
    for k in range(np.uint64(text.size)):
        out[k] = table[text[k]]
    return out


def _has_sequences(sites: Sites, site: int) -> bool:
    """Return whether any ALT of a site has a sequence."""
    first, end = sites.allele_offsets[[site, site + 1]]
    return bool((sites.kinds[first + 1 : end] == AlleleKind.SEQUENCE).any())


def _position(record: VcfRecord, base: int) -> str:
    return f"{record.contig}:{record.start + base + 1}"
