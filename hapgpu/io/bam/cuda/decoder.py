"""Pieces of BAM to checked records in GPU memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.cuda.device_records import DeviceRecords, measured_records
from hapgpu.io.bam.cuda.starts import Proof, StartLimits, StartSearch
from hapgpu.io.bam.record_layout import (
    INCOMPLETE,
    SOUND,
    RecordBlock,
    RecordLayout,
    measure_records,
    reading_fault,
    truncated,
    walk_records,
)
from hapgpu.io.bgzf.block_table import BlockTable, damaged_block
from hapgpu.io.bgzf.cuda import PADDING, inflate_blocks
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.io.bgzf.pieces import PackedPiece
from hapgpu.io.files.unfinished import Unfinished
from hapgpu.runtime.gpu.context import (
    OUT_OF_MEMORY,
    release_memory,
    retried,
    retried_or_none,
)
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.relay import Relay

_ROOM: Final = 1 << 16
"""Bytes before the content of a piece, for the start of its first record; longer ones are moved."""


@dataclass(frozen=True, slots=True)
class _Guessed:
    """A piece on the GPU: its records, if they are where they are guessed to be.

    Attributes
    ----------
    search
        The search for the starts of its records.
    proof
        Its result.
    head
        uint8, host: the first bytes of the content.
    tail
        uint8, host: the bytes after the last record.
    inner_starts
        int64[k]: where stretches of the file start, if they are known to start with a record.
    """

    search: StartSearch
    proof: Proof
    head: NDArray[np.uint8]
    tail: NDArray[np.uint8]
    inner_starts: NDArray[np.int64]


class DevicePieceDecoder:
    """Decoder of the pieces of one file; for several threads and GPUs.

    Each piece is inflated, and its records are guessed and walked, without the piece before. What
    waits is the proof: the record between two pieces must end where the first one is guessed.

    Parameters
    ----------
    name
        The file's name for messages.
    limits
        Limits of the records.
    """

    def __init__(self, name: str, limits: StartLimits) -> None:
        self._name = name
        self._limits = limits
        self._relay = Relay(Unfinished())
        self._records: dict[int, int] = {}
        self.pieces_read_again = 0
        """How many pieces the CPU has read, because of a fault or of too little memory."""

    def decode(self, number: int, piece: PackedPiece) -> DeviceRecords:
        """Return the records that end in a piece, on the current device and stream.

        Raises
        ------
        InputError
            A block or a record is damaged.
        AbandonedError
            A piece before is damaged.
        MemoryError
            The GPU has too little memory for the records.
        """
        try:
            if not (piece.ends > piece.starts).any():
                return self._empty(number, piece)
            guessed = retried_or_none(partial(self._guessed, piece))
            before = self._wait(number)
            return self._decoded(number, piece, guessed, before)
        finally:
            self._relay.abandon(number)  # without effect after a hand-over

    def end(self, number: int, error: InputError | None = None) -> int:
        """Check that no record is cut off at the end of the file; return the number of records.

        Parameters
        ----------
        number
            Number of the piece after the last.
        error
            The error with which the file ends, if there is one.

        Raises
        ------
        InputError
            `error`, or the last record is incomplete.
        AbandonedError
            A piece before is damaged.
        """
        before = self._wait(number)
        if error is not None:
            raise error
        if before.size:
            raise truncated(self._name, before.records + 1)
        return before.records

    def records_before(self, number: int) -> int:
        """Return the number of records before the piece that has failed, for its message."""
        return self._records.get(number, 0)

    def _wait(self, number: int) -> Unfinished:
        before = self._relay.wait(number)
        self._records[number] = before.records
        return before

    def abandon_with(self, piece: object, number: int) -> None:
        """End a piece, and all pieces after it, when it is dropped without having been decoded."""
        self._relay.abandon_with(piece, number)

    def _empty(self, number: int, piece: PackedPiece) -> DeviceRecords:
        """Check the blocks of a piece without content."""
        before = self._wait(number)
        content_of(piece, self._name)
        self._relay.put(number, before)
        return no_records()

    def _decoded(
        self, number: int, piece: PackedPiece, guessed: _Guessed | None, before: Unfinished
    ) -> DeviceRecords:
        if guessed is not None and (piece.continues or not before.size):
            try:
                records = self._proved(number, piece, guessed, before)
            except OUT_OF_MEMORY:
                release_memory()
                records = None
            if records is not None:
                return records
        del guessed
        return self._read_again(number, piece, before)

    def _read_again(self, number: int, piece: PackedPiece, before: Unfinished) -> DeviceRecords:
        self.pieces_read_again += 1
        found = read_again(piece, before, self._limits, self._name)
        self._relay.put(number, found.hand_over)
        return retried(lambda: DeviceRecords.upload(found.block))

    def _guessed(self, piece: PackedPiece) -> _Guessed | None:
        """Inflate a piece and guess its records; None if a block is damaged."""
        inflated = inflate_blocks(piece.raw, piece.table, _ROOM)
        data, size, inner_starts = _joined_stretches(inflated.data, piece)
        end = _ROOM + size
        search = StartSearch(data, _ROOM, end, self._limits)
        search.guess()
        search.prove()
        if int(inflated.fault[0]):  # waits
            return None
        proof = search.proof()
        head = data[_ROOM : min(_ROOM + FIXED_BYTES, end)].get()
        return _Guessed(search, proof, head, _tail(search, proof), inner_starts)

    def _proved(
        self, number: int, piece: PackedPiece, guessed: _Guessed, before: Unfinished
    ) -> DeviceRecords | None:
        """Return the records of a piece behind what the piece before hands over.

        None if a record is damaged, or if stretches do not end with records.
        """
        search = guessed.search
        entry = self._entry(guessed, before)
        if entry is None:
            return None
        if entry > search.end:
            if not piece.goes_on:
                return None
            self._relay.put(number, before.then(search.data[search.begin : search.end].get()))
            return no_records()
        sure = self._repaired(guessed, entry)
        if sure is None or (sure.tail.size and not piece.goes_on):
            return None
        records = sure.proof.records + (before.size > 0)
        hand_over = Unfinished(records=before.records + records).then(sure.tail)
        if not sure.inner_starts.size:
            self._relay.put(number, hand_over)
        starts = cupy.empty(records, dtype=np.int64)
        data, shift = _behind(search, before)
        search.list(starts[before.size > 0 :])
        starts += shift
        if before.size:
            starts[0] = search.begin - before.size + shift
        if not _are_among(sure.inner_starts + shift, starts):
            return None
        found = self._measured(data, starts)
        if found is not None:
            self._relay.put(number, hand_over)
        return found

    def _entry(self, guessed: _Guessed, before: Unfinished) -> int | None:
        """Return where the first record behind the one before starts, perhaps after the piece.

        None if the size of the record before is impossible.
        """
        begin, end = guessed.search.begin, guessed.search.end
        if not before.size:
            return begin
        head = before.head(guessed.head, FIXED_BYTES)
        if head.size < FIXED_BYTES:
            return end + 1  # not even its fixed fields are complete
        size = int(head[:4].view(np.int32)[0])
        bases = int(head[20:24].view(np.int32)[0])
        if size < FIXED_BYTES - 4 or bases > size or size > self._limits.max_record:
            return None
        return begin - before.size + 4 + size

    def _repaired(self, guessed: _Guessed, entry: int) -> _Guessed | None:
        """Return the piece with proved starts; None if a record has an impossible size."""
        search, proof = guessed.search, guessed.proof
        first = search.end if proof.first < 0 else proof.first
        if first == entry and not proof.is_unproved and not proof.is_faulty:
            return guessed
        search.repair(entry)
        proof = search.proof()
        if proof.is_faulty:
            return None
        tail = _tail(search, proof)
        return _Guessed(search, proof, guessed.head, tail, guessed.inner_starts)

    def _measured(self, data: GpuArray, starts: GpuArray) -> DeviceRecords | None:
        records, fault = measured_records(data, starts, self._limits.contigs)
        return None if int(fault[0]) else records  # waits


def no_records() -> DeviceRecords:
    """Return an empty batch on the current GPU."""
    return retried(_no_records)


def _no_records() -> DeviceRecords:
    nothing = cupy.empty(PADDING, dtype=np.uint8)
    return measured_records(nothing, cupy.empty(0, dtype=np.int64), 0)[0]


def _tail(search: StartSearch, proof: Proof) -> NDArray[np.uint8]:
    """Return the bytes after the last record, if the guesses agree."""
    if proof.is_unproved or proof.is_faulty:
        return np.empty(0, dtype=np.uint8)
    at = search.end if proof.first < 0 else proof.exit
    tail: NDArray[np.uint8] = search.data[at : search.end].get()
    return tail


def _behind(search: StartSearch, before: Unfinished) -> tuple[GpuArray, int]:
    """Put the bytes handed over in front of a piece; return the data, and its shift."""
    data, size = search.data, before.size
    shift = 0
    if size > search.begin:
        shift = size - search.begin
        data = cupy.empty(search.data.size + shift, dtype=np.uint8)
        data[size : size + search.end - search.begin] = search.data[search.begin : search.end]
    at = search.begin + shift - size
    for part in before.parts:
        data[at : at + part.size].set(part, stream=cupy.cuda.get_current_stream())
        at += part.size
    return data, shift


def _joined_stretches(
    data: GpuArray, piece: PackedPiece
) -> tuple[GpuArray, int, NDArray[np.int64]]:
    """Return the stretches of a piece end to end, behind `_ROOM` bytes.

    Also their size, and where they start, without one that continues the piece before.
    """
    lengths = piece.ends - piece.starts
    ends = _ROOM + np.cumsum(lengths)
    size = int(lengths.sum())
    inner_starts = (ends - lengths)[int(piece.continues) :]
    inner_starts = inner_starts[inner_starts < _ROOM + size]
    inner_starts = inner_starts[inner_starts > _ROOM]  # a piece starts where the one before ends
    if size == piece.size:
        return data, size, inner_starts
    parts = _parts_of_blocks(piece.table, piece.starts, piece.ends)
    starts, part_lengths = map(cupy.asarray, parts)
    joined = cupy.empty(_ROOM + size + PADDING, dtype=np.uint8)
    joined[_ROOM : _ROOM + size] = DeviceRagged.gather(data, starts + _ROOM, part_lengths).data
    return joined, size, inner_starts


def _parts_of_blocks(
    table: BlockTable, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut stretches where blocks end, so that warps copy parts of similar length.

    Returns
    -------
    Starts and lengths, int64, of the parts in the content of the blocks.
    """
    cuts = np.unique(np.concatenate([np.cumsum(table.sizes), starts, ends]))
    begins, stops = cuts[:-1], cuts[1:]
    row = np.searchsorted(starts, begins, side="right") - 1
    is_wanted = (row >= 0) & (begins < ends[np.maximum(row, 0)])
    return begins[is_wanted], (stops - begins)[is_wanted]


def _are_among(places: NDArray[np.int64], starts: GpuArray) -> bool:
    """Tell whether sorted starts, on the GPU, have all of some places."""
    if not places.size:
        return True
    if not starts.size:
        return False
    wanted = cupy.asarray(places)
    rows = cupy.minimum(cupy.searchsorted(starts, wanted), starts.size - 1)
    return bool((starts[rows] == wanted).all())


class ReadAgain(NamedTuple):
    """Records of a piece, and what it hands over."""

    block: RecordBlock
    hand_over: Unfinished


def read_again(piece: PackedPiece, before: Unfinished, limits: StartLimits, name: str) -> ReadAgain:
    """Read a piece on the CPU.

    Raises
    ------
    InputError
        A block or a record is damaged.
    """
    content, lengths = content_of(piece, name)
    data = read_only(np.concatenate([before.bytes(), content]))
    ends = before.size + np.cumsum(lengths)
    if before.size and not piece.continues:
        ends[0] = before.size  # no more bytes of the record handed over
    starts, fault = _walked(data, ends, limits.max_record)
    layout = RecordLayout.empty(starts)
    row, row_fault = map(int, measure_records(data, layout, 0, starts.size, limits.contigs))
    if row_fault != SOUND:
        raise reading_fault(name, before.records + row, row_fault, limits.max_record)
    end = _end_of(data, starts)
    if fault == SOUND and end < data.size and not piece.goes_on:
        fault = INCOMPLETE
    if fault != SOUND:
        raise reading_fault(name, before.records + starts.size, fault, limits.max_record)
    after = Unfinished(records=before.records + starts.size).then(data[end:].copy())
    return ReadAgain(RecordBlock(data, layout), after)


def _walked(
    data: NDArray[np.uint8], ends: NDArray[np.int64], max_record: int
) -> tuple[NDArray[np.int64], int]:
    """Find the records of stretches; each must start with a record, and all but the last end so.

    Return their starts and the fault of the next record.
    """
    found = [np.empty(0, dtype=np.int64)]
    at, fault = 0, SOUND
    for end in ends.tolist():
        starts = np.empty((end - at) // FIXED_BYTES + 1, dtype=np.int64)
        walked = walk_records(data[:end], at, max_record, starts)
        count, _, at, fault = map(int, walked)
        found.append(starts[:count].copy())  # a view would keep all of `starts`
        if fault == SOUND and at < end < data.size:
            fault = INCOMPLETE
        if fault != SOUND:
            break
    return np.concatenate(found), fault


def _end_of(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> int:
    if not starts.size:
        return 0
    last = int(starts[-1])
    return last + 4 + int.from_bytes(data[last : last + 4].tobytes(), "little")


def content_of(piece: PackedPiece, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Inflate a piece on the CPU; return its stretches end to end, uint8, and their lengths.

    Raises
    ------
    InputError
        A block is damaged.
    """
    content = np.empty(piece.size, dtype=np.uint8)
    row = inflate_library().new_inflater()(piece.raw, piece.table, content)
    if row >= 0:
        raise damaged_block(name, int(piece.table.offsets[row]))
    stretches = zip(piece.starts.tolist(), piece.ends.tolist(), strict=True)
    return (
        np.concatenate([content[start:end] for start, end in stretches]),
        piece.ends - piece.starts,
    )
