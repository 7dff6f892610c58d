"""Lines that the kernels write, against those of the CPU, with CuPy or with the emulator."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hapgpu.io.fastx.cuda import DeviceSpans
from hapgpu.longread.align.batches import AlignedMappings, ReadCodes, TargetCodes
from hapgpu.longread.cuda.align.rows import MAPPING_WORDS
from hapgpu.longread.cuda.lines.batches import DeviceAlignedBlock
from hapgpu.longread.cuda.lines.writer import DeviceAlignmentWriter
from hapgpu.longread.options import LineOptions, MappingOptions
from hapgpu.longread.output.aligned_parts import AlignmentWriter
from hapgpu.longread.output.parts import all_lines
from hapgpu.longread.output.rows import AlignedBlock
from tests.longread.output.alignments.written_lines import Record, StandInIndex, target_codes

ANCHORS: Final = 17


def check_lines(
    block: AlignedBlock,
    targets: list[Record],
    options: MappingOptions,
    line_options: LineOptions,
    arrays: Any,
) -> None:
    """Compare the lines of a block; `arrays` is the module of the device's arrays."""
    index: Any = StandInIndex.of(targets)
    codes = target_codes(targets)
    written = AlignmentWriter(index, codes, options, line_options)(block, ANCHORS)
    expected = all_lines(written)
    on_device = TargetCodes(*map(arrays.asarray, codes))
    writer = DeviceAlignmentWriter(index, on_device, options, line_options)
    lines = writer(_on_device(block, arrays), ANCHORS)
    text = lines.text if arrays is np else lines.text.get()
    found, wanted = text.tobytes().splitlines(), expected.text.tobytes().splitlines()
    for one, other in zip(found, wanted, strict=False):
        assert one == other
    assert text.tobytes() == expected.text.tobytes()
    assert lines.counts == expected.counts


def _on_device(block: AlignedBlock, arrays: Any) -> DeviceAlignedBlock:
    def uploaded(array: Any) -> Any:
        return arrays.asarray(np.ascontiguousarray(array))

    spans, aligned = block.spans, block.aligned
    words = np.ascontiguousarray(aligned.mappings).view(np.int64).reshape(-1, MAPPING_WORDS)
    columns = (spans.name_starts, spans.name_lengths, spans.base_starts, spans.quality_starts)
    return DeviceAlignedBlock(
        uploaded(block.text),
        DeviceSpans(*map(uploaded, (*columns, spans.lengths)), spans.has_qualities),
        ReadCodes(*map(uploaded, block.codes)),
        AlignedMappings(*map(uploaded, (words, aligned.operations, aligned.offsets))),
        uploaded(block.repeat_lengths),
    )
