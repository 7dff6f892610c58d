"""Haplotypes placed on the reference, for records in the reference's coordinates."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import PairBatch, Ragged
from hapgpu.device import Device
from hapgpu.errors import InputError
from hapgpu.io.fasta import ReferenceFasta
from hapgpu.io.header import SamHeader
from hapgpu.io.regions import contig_hint
from hapgpu.realign.align import align_pairs
from hapgpu.realign.anchor import anchor_haplotypes, pad_pairs
from hapgpu.realign.haplotypes import HaplotypeSet
from hapgpu.realign.project import PlacedHaplotypes
from hapgpu.realign.scoring import PRESETS, Overhang

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Placement:
    """Haplotypes that have an alignment with the reference, and the contigs of their loci.

    Attributes
    ----------
    haplotypes
        Those that are left.
    placed
        Their alignments with their reference windows, one window per locus.
    contigs
        int32[loci], into the @SQ lines of the output.
    """

    haplotypes: HaplotypeSet
    placed: PlacedHaplotypes
    contigs: NDArray[np.int32]


def place_haplotypes(
    haplotypes: HaplotypeSet, reference: Path, header: SamHeader, device: Device
) -> Placement:
    """Align each haplotype from end to end with the reference under its locus.

    A haplotype without such an alignment is left out with a warning, as GATK leaves it out.

    Raises
    ------
    InputError
        The reference cannot be read, lacks a contig, or ends before a locus; or no haplotype is
        left.
    """
    contigs = np.array([_contig(locus.contig, header) for locus in haplotypes.loci], np.int32)
    with ReferenceFasta(reference) as fasta:
        # GATK reads references in upper case, whatever marks repeats in the file.
        windows = Ragged.from_sequences(fasta.fetch(locus).upper() for locus in haplotypes.loci)
    rows = np.arange(len(haplotypes), dtype=np.int32)
    pairs = PairBatch(windows, haplotypes.sequences, haplotypes.locus_index, rows)
    alignments = align_pairs(
        pad_pairs(pairs), PRESETS["haplotype-to-reference"], Overhang.SOFTCLIP, device
    )
    cigars, ok = anchor_haplotypes(pairs, alignments)
    for row in np.flatnonzero(~ok):
        locus = haplotypes.loci[haplotypes.locus_index[row]]
        logger.warning(
            "haplotype '%s' is left out: it has no alignment from end to end of %s in %s",
            haplotypes.names[row],
            locus,
            reference,
        )
    kept = np.flatnonzero(ok)
    if not kept.size:
        message = f"no haplotype aligns with its locus in {reference}: is it the right reference?"
        raise InputError(message)
    used = np.unique(haplotypes.locus_index[kept])
    left = haplotypes.take(kept)
    placed = PlacedHaplotypes(
        cigars.take(kept),
        np.zeros(kept.size, dtype=np.int64),
        left.locus_index,
        windows.take(used),
        np.array([locus.start for locus in left.loci], dtype=np.int64),
    )
    return Placement(left, placed, contigs[used])


def _contig(name: str, header: SamHeader) -> int:
    found = header.reference_id(name)
    if found is None:
        hint = contig_hint(name, header.reference_names)
        message = f"the header of the reads has no contig '{name}'{hint}"
        raise InputError(message)
    return found
