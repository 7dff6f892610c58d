"""Objects sent between a run and a forked process: pickled, their arrays through shared memory."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection, Pipe
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.processes.blocks import Part, SharedBlocks, known_blocks

_MIN_SHARED: Final = 1 << 15
"""Bytes of an array that go through shared memory; smaller ones are pickled with the rest."""
_ALIGNMENT: Final = 64
_MIN_MEMORY: Final = 1 << 20
_KEPT_MEMORY: Final = 64 << 20
"""Bytes that shared memory keeps after a large message."""

_Place = tuple[int, int]
"""Offset and size of an array in the shared memory of a channel, in bytes."""


class EndedError(Exception):
    """The other process of a channel has ended."""


class SharedMemory:
    """Memory without a name, of the processes that were forked after it was made.

    It grows with what is written. It ends with the last process that has it, also one that is
    killed.
    """

    def __init__(self) -> None:
        self._descriptor = os.memfd_create("hapgpu")
        self._size = 0  # of the map
        self._map: mmap.mmap | None = None

    def write(self, arrays: Sequence[NDArray[np.uint8]]) -> tuple[list[_Place], int]:
        """Write arrays, uint8; return their places, and the size of the memory."""
        starts, end = [], 0
        for array in arrays:
            starts.append(end)
            end += -(-array.size // _ALIGNMENT) * _ALIGNMENT
        memory = self._with_room(end)
        for start, array in zip(starts, arrays, strict=True):
            np.copyto(memory[start : start + array.size], array)  # without Python's lock
        return list(zip(starts, (array.size for array in arrays), strict=True)), self._size

    def _with_room(self, wanted: int) -> NDArray[np.uint8]:
        """Map at least so many bytes; give back what only a much larger message needed."""
        size = 1 << (max(wanted, _MIN_MEMORY) - 1).bit_length()
        if self._size < size or self._size > max(size, _KEPT_MEMORY):
            os.ftruncate(self._descriptor, size)
            return self._mapped(size)
        return self._mapped(self._size)

    def read(
        self, places: Sequence[_Place], size: int, allocate: Callable[[int], NDArray[np.uint8]]
    ) -> list[NDArray[np.uint8]]:
        """Return copies, uint8, of the arrays at some places, in memory that `allocate` returns."""
        memory = self._mapped(size)
        copies = [allocate(length) for _, length in places]
        for (start, length), copy in zip(places, copies, strict=True):
            np.copyto(copy, memory[start : start + length])
        return copies

    def _mapped(self, size: int) -> NDArray[np.uint8]:
        if self._map is None or self._size != size:
            self._map, self._size = mmap.mmap(self._descriptor, size), size
        return np.frombuffer(self._map, dtype=np.uint8)

    def close(self) -> None:
        """Close the memory for this process."""
        self._map = None
        os.close(self._descriptor)


def _unshared(size: int) -> NDArray[np.uint8]:
    return np.empty(size, dtype=np.uint8)


class _Pickler(pickle.Pickler):
    """Pickler that writes the numbers of objects that both processes have.

    Large arrays are appended to a list instead.
    """

    def __init__(
        self, file: io.BytesIO, numbers: dict[int, int], arrays: list[NDArray[np.uint8]]
    ) -> None:
        # Not a method: it would refer to the pickler, which would keep the message until garbage
        # is collected.
        def is_pickled(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes < _MIN_SHARED:
                return True
            arrays.append(np.frombuffer(raw, dtype=np.uint8))
            return False

        super().__init__(file, protocol=5, buffer_callback=is_pickled)
        self._numbers = numbers

    def persistent_id(self, value: object) -> int | None:
        return self._numbers.get(id(value))


class _Unpickler(pickle.Unpickler):  # noqa: S301  (our own messages)
    def __init__(
        self, data: bytes, shared: Sequence[object], arrays: Sequence[NDArray[np.uint8]]
    ) -> None:
        super().__init__(io.BytesIO(data), buffers=arrays)
        self._shared = shared

    def persistent_load(self, number: Any) -> object:
        return self._shared[number]


class Channel:
    """One end of a channel between two processes, which send in turns.

    Parameters
    ----------
    connection
        Carries what is pickled.
    outgoing, incoming
        Carry the arrays; `outgoing` of one end is `incoming` of the other.
    shared
        Objects that both processes have had since the fork: they are not copied.
    blocks
        Memory of arrays that the other process sees; None: all are copied.
    """

    def __init__(
        self,
        connection: Connection,
        outgoing: SharedMemory,
        incoming: SharedMemory,
        shared: Sequence[object],
        blocks: SharedBlocks | None = None,
    ) -> None:
        self._connection = connection
        self._outgoing = outgoing
        self._incoming = incoming
        self._shared = shared
        self._blocks = blocks
        # Blocks are used again and again: their pages are there.
        self._allocate = blocks.allocate if blocks else _unshared
        self._numbers = {id(value): number for number, value in enumerate(shared)}

    @classmethod
    def pair(cls, shared: Sequence[object]) -> tuple[Self, Self]:
        """Return both ends of a channel, before a fork; the first is for this process."""
        with ExitStack() as stack:  # descriptors may run out
            one, other = map(stack.enter_context, Pipe())
            there = SharedMemory()
            stack.callback(there.close)
            back = SharedMemory()
            stack.pop_all()
        return cls(one, there, back, shared, known_blocks()), cls(other, back, there, shared)

    def send(self, message: object) -> None:
        """Send an object that can be pickled.

        Raises
        ------
        EndedError
            The other process has ended.
        Exception
            The object cannot be pickled; nothing was sent.
        """
        file, arrays = io.BytesIO(), list[NDArray[np.uint8]]()
        _Pickler(file, self._numbers, arrays).dump(message)
        parts = [self._blocks.part_of(array) if self._blocks else None for array in arrays]
        rest = [array for array, part in zip(arrays, parts, strict=True) if part is None]
        places, size = self._outgoing.write(rest) if rest else ([], 0)
        data = pickle.dumps((parts, places, size, file.getvalue()))
        try:
            self._connection.send_bytes(data)
        except OSError as error:
            raise EndedError from error

    def receive(self) -> Any:
        """Wait for an object.

        Raises
        ------
        EndedError
            The other process has ended, perhaps within a message.
        """
        try:
            message = self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise EndedError from error
        parts, places, size, data = pickle.loads(message)  # noqa: S301  (our own)
        copies = iter(self._incoming.read(places, size, self._allocate) if places else [])
        arrays = [next(copies) if part is None else _array_at(part) for part in parts]
        return _Unpickler(data, self._shared, arrays).load()

    def close_connection(self) -> None:
        """Close the connection, in a process that does not use this end."""
        self._connection.close()

    def close(self) -> None:
        """Close the connection and the memory for this process."""
        self._connection.close()
        self._outgoing.close()
        self._incoming.close()


def _array_at(part: Part) -> NDArray[np.uint8]:
    blocks = known_blocks()
    if blocks is None:
        raise ValueError("a process was forked before the shared memory was made")
    return blocks.array(part)


def sendable(error: BaseException) -> BaseException:
    """Return an error that can be pickled, with a note of where it was raised."""
    error.add_note(f"in process {os.getpid()}:\n{''.join(traceback.format_exception(error))}")
    error.__cause__ = error.__context__ = None
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301  (our own)
    except Exception:  # noqa: BLE001  (whatever an error of a library raises)
        copy = None
    if type(copy) is type(error):
        return error
    plain = RuntimeError(f"{type(error).__name__}: {error}")
    for note in error.__notes__:
        plain.add_note(note)
    return plain
