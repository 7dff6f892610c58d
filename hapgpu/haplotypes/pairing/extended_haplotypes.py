"""Haplotypes extended by reference bases, so that they hold the reads at their loci."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import copy_bytes
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.cigar.clips import Clips
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet, LocusColumns
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region
from hapgpu.runtime.jit import njit

FLANK: Final = 64
"""Flanks are multiples of this, at least one, so that few different flanks are made."""

GAP_ROOM: Final = 32  # for gaps that neither the read's old alignment nor its haplotype has

MAX_FLANKS: Final = 1 << 15
"""Longest flank, in multiples of `FLANK`."""

CLASS_BITS: Final = 0xFFFFFFFF
"""Bits of a key that hold both flanks."""

_MAX_GAP: Final = 1 << 15  # intervals at most this far apart are fetched from the FASTA together


@dataclass(frozen=True, slots=True)
class ExtendedHaplotypes:
    """e haplotypes with flanks, on w intervals of the reference.

    Attributes
    ----------
    haplotypes
        int32[e], rows of the haplotypes before extension.
    sequences
        uint8 text, e rows: the haplotypes with their flanks.
    classes
        int64[e]: equal if the same flanks were requested.
    flanks
        int64[2, e]: bases of the reference before and after each haplotype, fewer at the ends of
        contigs.
    windows
        int32[e], the reference interval of each.
    references
        uint8 text, upper case, w rows: the reference at a locus and its flanks.
    reference_starts
        int64[w], 0-based position of the first base of each interval.
    contigs
        int32[w], into the @SQ lines of the reads' header.
    """

    haplotypes: NDArray[np.int32]
    sequences: Ragged
    classes: NDArray[np.int64]
    flanks: NDArray[np.int64]
    windows: NDArray[np.int32]
    references: Ragged
    reference_starts: NDArray[np.int64]
    contigs: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ReferenceWindows:
    """w intervals of the reference, each a locus with flanks.

    Attributes
    ----------
    flanks
        int64[2, w]: bases before and after the locus.
    text
        uint8, upper case: bases of the reference that hold all intervals.
    text_starts, lengths
        int64[w]: each interval in `text`; intervals overlap in it.
    starts
        int64[w], 0-based position of the first base of each interval.
    contigs
        int32[w], into the @SQ lines of the reads' header.
    """

    flanks: NDArray[np.int64]
    text: NDArray[np.uint8]
    text_starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    starts: NDArray[np.int64]
    contigs: NDArray[np.int32]


class Extender:
    """Extension of haplotypes at loci; not to be shared between threads.

    Parameters
    ----------
    haplotypes
        Haplotypes with loci.
    reference
        FASTA with its index.
    header
        The header of the reads.

    Attributes
    ----------
    contig_lengths
        Length in the reference of each contig with a locus.
    starts, ends
        int64[l]: the loci.
    shrink
        int64[l]: bases by which the shortest haplotype of each locus is shorter than the locus.

    Raises
    ------
    InputError
        The reference cannot be read, lacks a contig, or ends before a locus.
    """

    def __init__(self, haplotypes: HaplotypeSet, reference: Path, header: SamHeader) -> None:
        self._haplotypes = haplotypes
        self._fasta = ReferenceFasta(reference)
        loci = haplotypes.locus_columns()
        lengths = self._checked_lengths(loci)
        self.contig_lengths = dict(zip(loci.contig_names, lengths.tolist(), strict=True))
        self._contig_names = loci.contig_names
        self._locus_contigs = loci.contigs
        self.starts, self.ends = loci.starts, loci.ends
        self._contig_lengths = lengths[loci.contigs]
        references = [header.reference_id(name) for name in loci.contig_names]
        self._contigs = np.array(references, dtype=np.int32)[loci.contigs]
        locus_lengths = (self.ends - self.starts)[haplotypes.locus_index]
        shorter_by = locus_lengths - haplotypes.sequences.lengths
        self.shrink = np.zeros(len(haplotypes.loci), dtype=np.int64)
        np.maximum.at(self.shrink, haplotypes.locus_index, shorter_by)

    def _checked_lengths(self, loci: LocusColumns) -> NDArray[np.int64]:
        """Return int64: the length of each contig; raise an error for the first bad locus."""
        found = [self._fasta.lengths.get(name, -1) for name in loci.contig_names]
        lengths = np.array(found, dtype=np.int64)
        is_bad = loci.ends > lengths[loci.contigs]
        if is_bad.any():
            self._fasta.contig_length(self._haplotypes.loci[int(np.argmax(is_bad))])
        return lengths

    def flanks_needed(
        self,
        reads: ReadBatch,
        clips: Clips,
        read_index: NDArray[np.int32],
        haplotype_index: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """Return int64[2, p]: the flanks that p pairs of a read and a haplotype need.

        A read may be anchored at either end, its clips may become aligned, and it extends further
        where the haplotype has a deletion. The flanks depend on the read and the locus only, so
        that results do not depend on the other reads of a batch. `read_index` and
        `haplotype_index` are int32[p].
        """
        starts = reads.positions.astype(np.int64) - clips.leading
        ends = reads.positions + reference_lengths(reads.cigars) + clips.trailing
        lengths = reads.bases.lengths
        locus = self._haplotypes.locus_index[haplotype_index]
        first = np.minimum(starts, ends - lengths)[read_index]
        last = np.maximum(ends, starts + lengths)[read_index]
        room = self.shrink[locus] + GAP_ROOM
        return np.stack([self.starts[locus] - first + room, last - self.ends[locus] + room])

    def extend(
        self, haplotype_index: NDArray[np.int32], needed: NDArray[np.int64]
    ) -> tuple[ExtendedHaplotypes, NDArray[np.int32]]:
        """Extend haplotypes by at least `needed` bases, or to the ends of the contig.

        Parameters
        ----------
        haplotype_index
            int32[p], the haplotype of each pair.
        needed
            int64[2, p], bases before and after it.

        Returns
        -------
        ExtendedHaplotypes
            Each haplotype once with each pair of flanks, in the order of the haplotypes.
        NDArray
            int32[p], the extended haplotype of each pair.

        Raises
        ------
        InputError
            The reference is damaged.
        """
        units = np.clip(-(-needed // FLANK), 1, MAX_FLANKS)
        classes = units[0] << 16 | units[1]
        keys, rows = np.unique(
            haplotype_index.astype(np.int64) << 32 | classes, return_inverse=True
        )
        haplotypes = (keys >> 32).astype(np.int32)
        locus = self._haplotypes.locus_index[haplotypes].astype(np.int64)
        window_keys, windows = np.unique(locus << 32 | keys & CLASS_BITS, return_inverse=True)
        fetched = self.windows_of(window_keys)
        references = Ragged.gather(fetched.text, fetched.text_starts, fetched.lengths)
        flanks = fetched.flanks[:, windows]
        sequences = self._haplotypes.sequences
        extended = ExtendedHaplotypes(
            haplotypes,
            _joined(sequences, haplotypes, flanks, references, windows),
            keys & CLASS_BITS,
            flanks,
            windows.astype(np.int32),
            references,
            fetched.starts,
            fetched.contigs,
        )
        return extended, rows.astype(np.int32)

    def windows_of(self, keys: NDArray[np.int64]) -> ReferenceWindows:
        """Fetch loci with flanks.

        Parameters
        ----------
        keys
            int64[w], `locus << 32 | left << 16 | right`: the flanks as multiples of `FLANK`.

        Raises
        ------
        InputError
            The reference is damaged.
        """
        locus = keys >> 32
        left = np.minimum((keys >> 16 & 0xFFFF) * FLANK, self.starts[locus])
        right = (keys & 0xFFFF) * FLANK
        right = np.minimum(right, self._contig_lengths[locus] - self.ends[locus])
        starts, ends = self.starts[locus] - left, self.ends[locus] + right
        text, text_starts = self._fetched(locus, starts, ends)
        return ReferenceWindows(
            np.stack([left, right]), text, text_starts, ends - starts, starts, self._contigs[locus]
        )

    def _fetched(
        self, locus: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Fetch intervals, close ones together: a random access inflates 64 kb of a BGZF file.

        Return the text of all, and where in it each interval starts.
        """
        contigs = self._contigs[locus]
        order = np.lexsort((starts, contigs))
        texts: list[bytes] = []
        offsets = np.empty(locus.size, dtype=np.int64)
        at = 0
        for rows in _close_rows(order, contigs, starts, ends):
            start, end = int(starts[rows].min()), int(ends[rows].max())
            contig = self._contig_names[self._locus_contigs[locus[rows[0]]]]
            # GATK reads references in upper case; lower case may mark repeats in the file.
            texts.append(self._fasta.fetch(Region(contig, start, end)).upper())
            offsets[rows] = at + starts[rows] - start
            at += end - start
        return np.frombuffer(b"".join(texts), dtype=np.uint8), offsets


def _close_rows(
    order: NDArray[np.int64],
    contigs: NDArray[np.int32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> list[NDArray[np.int64]]:
    """Split rows of intervals, ordered by contig and start, where the next one is far away."""
    if not order.size:
        return []
    contig, start, end = contigs[order], starts[order], ends[order]
    is_far = (np.diff(contig) != 0) | (start[1:] - end[:-1] > _MAX_GAP)
    return np.split(order, np.flatnonzero(is_far) + 1)


def _joined(
    sequences: Ragged,
    haplotypes: NDArray[np.int32],
    flanks: NDArray[np.int64],
    references: Ragged,
    windows: NDArray[np.int64],
) -> Ragged:
    lengths = sequences.lengths_of(haplotypes)
    offsets = offsets_of(lengths + flanks.sum(axis=0))
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    _join(view_of(sequences), view_of(references), (haplotypes, windows), flanks, offsets, data)
    return Ragged(data, offsets)


@njit
def _join(
    sequences: RaggedView,
    references: RaggedView,
    index: tuple[NDArray[np.int32], NDArray[np.int64]],
    flanks: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> None:
    for row in range(offsets.size - 1):
        left, right = flanks[0, row], flanks[1, row]
        haplotype, window = index[0][row], index[1][row]
        start, end = offsets[row], offsets[row + 1]
        copy_bytes(references.data, references.offsets[window], out, start, left)
        core = sequences.offsets[haplotype]
        copy_bytes(sequences.data, core, out, start + left, end - start - left - right)
        after = references.offsets[window + 1] - right
        copy_bytes(references.data, after, out, end - right, right)
