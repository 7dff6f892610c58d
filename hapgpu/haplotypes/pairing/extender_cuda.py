"""Extension of haplotypes by reference bases on a GPU (`cuda/haplotypes/pairing/join.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.haplotypes.pairing.extended_haplotypes import (
    CLASS_BITS,
    FLANK,
    GAP_ROOM,
    MAX_FLANKS,
    ExtendedHaplotypes,
    Extender,
)
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads

_THREADS: Final = 128

JOIN_HAPLOTYPES = Kernel(
    "haplotypes/pairing/join.cu",
    "join_haplotypes",
    (
        Array("sequences", np.uint8, "sequences_size"),
        Array("sequence_offsets", np.int64, "sequence_count", 1),
        Array("references", np.uint8, "references_size"),
        Array("reference_offsets", np.int64, "window_count", 1),
        Array("haplotypes", np.int32, "rows"),
        Array("windows", np.int32, "rows"),
        Array("left_flanks", np.int64, "rows"),
        Array("right_flanks", np.int64, "rows"),
        Array("offsets", np.int64, "rows", 1),
        Array("out", np.uint8, "total"),
        Scalar("sequences_size", np.int64),
        Scalar("sequence_count", np.int32),
        Scalar("references_size", np.int64),
        Scalar("window_count", np.int32),
        Scalar("rows", np.int32),
        Scalar("total", np.int64),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceExtended:
    """The columns of `ExtendedHaplotypes` on the current GPU."""

    haplotypes: Any
    sequences: DeviceRagged
    classes: Any
    flanks: Any
    windows: Any
    references: DeviceRagged
    reference_starts: Any
    contigs: Any

    def download(self) -> ExtendedHaplotypes:
        """Copy the columns to host memory."""
        return ExtendedHaplotypes(
            self.haplotypes.get(),
            self.sequences.download(),
            self.classes.get(),
            self.flanks.get(),
            self.windows.get(),
            self.references.download(),
            self.reference_starts.get(),
            self.contigs.get(),
        )


class DeviceExtender:
    """`Extender` on the current GPU; the reference is fetched by the host.

    Parameters
    ----------
    extender
        The host's extender of the same haplotypes, used by this object alone.
    haplotypes
        The haplotypes, with loci.
    """

    def __init__(self, extender: Extender, haplotypes: HaplotypeSet) -> None:
        self._extender = extender
        self._sequences = DeviceRagged.upload(haplotypes.sequences)
        self._locus_index = cupy.asarray(haplotypes.locus_index)
        self._starts = cupy.asarray(extender.starts)
        self._ends = cupy.asarray(extender.ends)
        self._room = cupy.asarray(extender.shrink + GAP_ROOM)

    def flanks_needed(self, starts: Any, ends: Any, lengths: Any, reads: Any, rows: Any) -> Any:
        """Return the flanks that p pairs of a read and a haplotype need, int64[2, p].

        Parameters
        ----------
        starts, ends
            int64[n]: the reads' alignments with the reference, soft clips included.
        lengths
            int32[n]: the bases of the reads.
        reads, rows
            [p]: the read and the haplotype of each pair.
        """
        locus = self._locus_index[rows]
        first = cupy.minimum(starts, ends - lengths)[reads]
        last = cupy.maximum(ends, starts + lengths)[reads]
        room = self._room[locus]
        return cupy.stack([self._starts[locus] - first + room, last - self._ends[locus] + room])

    def extend(self, rows: Any, needed: Any) -> tuple[DeviceExtended, Any]:
        """Extend haplotypes, int32[p], by at least `needed` bases, int64[2, p].

        Returns
        -------
        DeviceExtended
            As `Extender.extend`.
        cupy.ndarray
            int32[p], the extended haplotype of each pair.

        Raises
        ------
        InputError
            The reference is damaged.
        """
        units = cupy.clip(-(-needed // FLANK), 1, MAX_FLANKS)
        classes = units[0] << 16 | units[1]
        keys, extended_rows = cupy.unique(
            rows.astype(np.int64) << 32 | classes, return_inverse=True
        )
        haplotypes = (keys >> 32).astype(np.int32)
        locus = self._locus_index[haplotypes].astype(np.int64)
        window_keys, windows = cupy.unique(locus << 32 | keys & CLASS_BITS, return_inverse=True)
        fetched = self._extender.windows_of(window_keys.get())
        references = DeviceRagged.gather(
            cupy.asarray(fetched.text),
            cupy.asarray(fetched.text_starts),
            cupy.asarray(fetched.lengths),
        )
        windows = windows.astype(np.int32)
        flanks = cupy.asarray(fetched.flanks)[:, windows]
        extended = DeviceExtended(
            haplotypes,
            self._joined(haplotypes, flanks, references, windows),
            keys & CLASS_BITS,
            flanks,
            windows,
            references,
            cupy.asarray(fetched.starts),
            cupy.asarray(fetched.contigs),
        )
        return extended, extended_rows.astype(np.int32)

    def _joined(
        self, haplotypes: Any, flanks: Any, references: DeviceRagged, windows: Any
    ) -> DeviceRagged:
        sequences = self._sequences
        offsets = offsets_of(sequences.lengths_of(haplotypes) + flanks[0] + flanks[1])
        total = int(offsets[-1])
        out = cupy.empty(total, dtype=np.uint8)
        if total:
            arguments = (
                sequences.data,
                sequences.offsets,
                references.data,
                references.offsets,
                haplotypes,
                windows,
                flanks[0],
                flanks[1],
                offsets,
                out,
                sequences.data.size,
                len(sequences),
                references.data.size,
                len(references),
                haplotypes.size,
                total,
            )
            launch_threads(JOIN_HAPLOTYPES, _THREADS, haplotypes.size * WARP, arguments)
        return DeviceRagged(out, offsets)
