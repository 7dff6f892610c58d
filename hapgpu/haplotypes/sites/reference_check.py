"""The reference under sites, and whether their REF agrees with it."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.haplotypes.batches import AlleleKind, ReferenceSlice, Sites
from hapgpu.io.genome.fasta import ReferenceFasta
from hapgpu.io.genome.regions import Region, contig_hint
from hapgpu.io.vcf.records import VcfRecord

_FIRST_BASE_OF_CODE: Final = dict(zip("RYSWKMBDHV", "ACCAGACAAA", strict=True))
"""What VCF 4.3 (section 1.6.1, REF) puts in place of codes that stand for several bases."""

_PLAIN_BASES: Final = bytes.maketrans(
    "".join(_FIRST_BASE_OF_CODE).encode(), "".join(_FIRST_BASE_OF_CODE.values()).encode()
)

_ANY: Final = "N"


def reference_slice(reference: ReferenceFasta, contig: str, start: int, end: int) -> ReferenceSlice:
    """Read bases start to end of a contig, as far as it reaches.

    Raises
    ------
    InputError
        The contig is unknown, or the file is damaged.
    """
    region = Region(contig, max(start, 0), min(end, reference.lengths.get(contig, end)))
    return ReferenceSlice(
        region.start, np.frombuffer(reference.fetch(region).upper(), dtype=np.uint8)
    )


def check_places(sites: Sites, reference: ReferenceFasta, source: str) -> None:
    """Make sure that sites of one contig, at least one, lie within the reference.

    Parameters
    ----------
    sites
        Of the file `source`.
    reference
        Which should have them.
    source
        Name of the file, for errors.

    Raises
    ------
    InputError
        The reference lacks the contig, or a REF reaches beyond its end; the message names the
        record.
    """
    first = sites.records[0]
    length = reference.lengths.get(first.contig)
    if length is None:
        hint = contig_hint(first.contig, reference.lengths)
        raise InputError(
            f"{source}, {first.label}: contig '{first.contig}' is not in {reference.path}{hint}"
        )
    beyond = np.flatnonzero(sites.ends > length)
    if beyond.size:
        record = sites.records[beyond[0]]
        raise InputError(
            f"{source}, {record.label}: REF at {_position(record, 0)} ends beyond the"
            f" {length:,} bases of its contig in {reference.path}: take the reference that the"
            " variants were called with"
        )


def check_reference_alleles(
    sites: Sites, slice_: ReferenceSlice, reference: ReferenceFasta, source: str
) -> None:
    """Make sure that each REF is what the reference has there, case aside.

    Where the reference has a code for several bases, REF may have the first of them in the
    alphabet instead, or N. Where no ALT has a sequence, N in REF stands for any base.

    Parameters
    ----------
    sites
        Of one contig.
    slice_
        The bases under all of them.
    reference
        Where they are from.
    source
        Name of the file of the sites.

    Raises
    ------
    InputError
        A REF disagrees; the message names its record, and both bases.
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
                f" has {found}: take the reference that the variants were called with"
            )


def plain_bases(slice_: ReferenceSlice) -> ReferenceSlice:
    """Put the first base in the alphabet in place of codes for several, as REF does; N stays.

    A haplotype with such a code would match no read, and the REF allele never be found.
    """
    text = slice_.bases.tobytes().translate(_PLAIN_BASES)
    return ReferenceSlice(slice_.start, np.frombuffer(text, dtype=np.uint8))


def _has_sequences(sites: Sites, site: int) -> bool:
    """Tell whether any ALT of a site has a sequence."""
    first, end = sites.allele_offsets[[site, site + 1]]
    return bool((sites.kinds[first + 1 : end] == AlleleKind.SEQUENCE).any())


def _position(record: VcfRecord, base: int) -> str:
    return f"{record.contig}:{record.start + base + 1}"
