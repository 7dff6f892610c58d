"""Batches of lines on a GPU, and their declaration (`cuda/longread/lines/batches.cuh`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import cupy
import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.fastx.cuda import SPANS, DeviceSpans
from hapgpu.longread.align.batches import AlignedMappings, ReadCodes, TargetCodes
from hapgpu.longread.cuda.align.rows import READ_CODES, mapping_array, read_code_fields
from hapgpu.longread.kernels import Fields, sizes
from hapgpu.longread.options import LineOptions, MappingOptions
from hapgpu.longread.output.rows import TARGET
from hapgpu.longread.output.sam import read_group_text
from hapgpu.runtime.gpu.kernel import Array, Length, Scalar, Struct
from hapgpu.runtime.gpu_array import GpuArray

TARGET_WORDS: Final = TARGET.itemsize // 8
SLOT_WORDS: Final = 7

LINE_BLOCK: Final = Struct(
    "block",
    (
        *(Array("text", np.uint8, "text_size"), Scalar("text_size", np.int64)),
        *(SPANS, Scalar("has_qualities", np.int32), Array("repeats", np.int32, "spans.reads")),
        *(READ_CODES, mapping_array("mappings", "mapping_count")),
        *(Length("mapping_count"), Array("operations", np.uint32, "operation_count")),
        *(Length("operation_count"), Array("offsets", np.int64, "spans.reads", 1)),
        Array("targets", np.int64, "target_count", width=TARGET_WORDS),
        *(Length("target_count"), Array("names", np.uint8, "name_bytes"), Length("name_bytes")),
        *(Array("target_codes", np.uint8, "code_bytes"), Length("code_bytes")),
    ),
)
LINE_FORM: Final = Struct(
    "form",
    (
        *sizes("is_sam", "prints_secondary", "prints_unmapped", "has_cigar", "difference"),
        *sizes("moves_long_cigars", "soft_clips_all", "secondary_bases", "has_comments"),
        Array("read_group", np.uint8, "read_group_size"),
        *sizes("read_group_size"),
    ),
)
CHUNKS: Final = Struct(
    "chunks",
    (
        *(Array("offsets", np.int64, "slot_count", 1), Array("slots", np.int64, "count")),
        *(Array("queries", np.int32, "count"), Array("targets", np.int32, "count")),
        *(Array("operations", np.int64, "count"), Array("differences", np.int64, "count")),
        *(Array("leads", np.int32, "count"), Array("trails", np.int32, "count")),
        Scalar("count", np.int64),
    ),
)
SLOTS: Final = Array("slots", np.int64, "slot_count", width=SLOT_WORDS)
SLOT_COUNT: Final = Scalar("slot_count", np.int64)


@dataclass(frozen=True, slots=True)
class DeviceAlignedBlock:
    """A block of n reads with their aligned mappings, on a GPU; see `AlignedBlock`.

    Attributes
    ----------
    text, spans
        uint8 text of the reads, and its spans.
    codes
        Bases of the reads.
    aligned
        Mappings of the reads, in the order of their lines; `MAPPING`s as of `mapping_array`.
    repeat_lengths
        int32[n]: bases of each read in repetitive seeds, for the tag rl.
    """

    text: GpuArray
    spans: DeviceSpans
    codes: ReadCodes
    aligned: AlignedMappings
    repeat_lengths: GpuArray


class DeviceLineTargets(NamedTuple):
    """Reference sequences, as lines need them, on a GPU; see `LineTargets`.

    Attributes
    ----------
    rows
        int64[s, TARGET_WORDS]: `TARGET`s.
    names
        uint8: text of all names.
    codes
        uint8: codes of all bases.
    """

    rows: GpuArray
    names: GpuArray
    codes: GpuArray

    @classmethod
    def of(cls, names: Sequence[str], targets: TargetCodes) -> DeviceLineTargets:
        """Make the rows of sequences with these names and bases, on the current GPU."""
        texts = Ragged.from_names(names)
        rows = cupy.empty((len(names), TARGET_WORDS), dtype=np.int64)
        columns = {
            "name": cupy.asarray(texts.offsets[:-1]),
            "name_length": cupy.asarray(texts.lengths),
            "length": targets.lengths,
            "codes": targets.starts,
        }
        for number, name in enumerate(TARGET.names or ()):
            rows[:, number] = columns[name]
        return cls(rows, cupy.asarray(texts.data), targets.codes)


class Chunks(NamedTuple):
    """c chunks of the operations of s slots; see the source.

    Attributes
    ----------
    offsets
        int64[s + 1]: the chunks of slot i are `offsets[i]` to `offsets[i + 1]`.
    slots
        int64[c].
    queries, targets
        int32[c]: bases of read and reference.
    operations, differences
        int64[c]: bytes of text.
    leads, trails
        int32[c]: equal bases before the first and after the last difference.
    """

    offsets: GpuArray
    slots: GpuArray
    queries: GpuArray
    targets: GpuArray
    operations: GpuArray
    differences: GpuArray
    leads: GpuArray
    trails: GpuArray

    @property
    def fields(self) -> Fields:
        """The fields of `CHUNKS`."""
        return (*self, self.slots.size)


def block_fields(block: DeviceAlignedBlock, targets: DeviceLineTargets) -> tuple[object, ...]:
    """Return the fields of `LINE_BLOCK`."""
    mappings, operations, offsets = block.aligned
    return (
        *(block.text, block.text.size, block.spans.fields, block.spans.has_qualities),
        *(block.repeat_lengths, read_code_fields(block.codes), mappings, mappings.shape[0]),
        *(operations, operations.size, offsets, targets.rows, targets.rows.shape[0]),
        *(targets.names, targets.names.size, targets.codes, targets.codes.size),
    )


def form_fields(options: MappingOptions, line_options: LineOptions) -> tuple[object, ...]:
    """Return the fields of `LINE_FORM`, with the text of the read group on the current GPU."""
    is_sam = line_options.is_sam
    read_group = read_group_text(line_options.read_group)
    return (
        *(is_sam, options.prints_secondary),
        not line_options.mapped_only if is_sam else options.prints_unmapped,
        *(is_sam or line_options.has_cigar, line_options.difference.value),
        *(line_options.moves_long_cigars, line_options.soft_clips_all),
        *(line_options.secondary_bases, line_options.copies_comments),
        *(cupy.asarray(read_group), read_group.size),
    )
