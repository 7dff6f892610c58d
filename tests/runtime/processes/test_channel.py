"""What is sent to a worker and back: arrays of all kinds, shared objects, several messages."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from numpy.typing import NDArray

from hapgpu.runtime.processes import channel
from hapgpu.runtime.processes.forked import ForkedWorkers, Processes
from tests.example_counts import many
from tests.runtime.processes.observed import shared_memories

DTYPES = st.one_of(
    st_numpy.integer_dtypes(endianness="?"),
    st_numpy.unsigned_integer_dtypes(),
    st_numpy.floating_dtypes(),
    st_numpy.boolean_dtypes(),
    st_numpy.byte_string_dtypes(min_len=1),
    st_numpy.unicode_string_dtypes(min_len=1),
    st_numpy.array_dtypes(max_size=3),
)
ARRAYS = st_numpy.arrays(
    DTYPES, st_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
)
KINDS = st.sampled_from(["as it is", "read-only", "strided", "Fortran"])


def of_kind(array: NDArray[Any], kind: str) -> NDArray[Any]:
    if kind == "read-only":
        array.flags.writeable = False
    if kind == "strided":
        return array[::-1, ...] if array.ndim else array
    return np.asfortranarray(array) if kind == "Fortran" else array


def echo(message: object) -> object:
    """Return a message, and what the other process found of its arrays."""
    return message, [(a.tobytes(), a.flags.writeable) for a in arrays_of(message)]


def arrays_of(message: object) -> Sequence[NDArray[Any]]:
    return message if isinstance(message, list) else []


def sent(messages: Sequence[object], shared: Sequence[object] = ()) -> list[Any]:
    with ForkedWorkers([echo], Processes(1, shared)) as forked:
        return [forked.workers[0](message) for message in messages]


@pytest.mark.parametrize("min_shared", [1, 1 << 15])
@given(st.lists(st.lists(st.tuples(ARRAYS, KINDS), max_size=4), min_size=1, max_size=4))
@settings(max_examples=many(60))
def test_arrays(min_shared: int, drawn: list[list[tuple[NDArray[Any], str]]]) -> None:
    """As after pickling without shared memory, which copies some kinds of arrays."""
    messages = [[of_kind(array, kind) for array, kind in message] for message in drawn]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(channel, "_MIN_SHARED", min_shared)
        replies = sent(messages)
    for message, (returned, found) in zip(messages, replies, strict=True):
        copies = pickle.loads(pickle.dumps(message, protocol=5))  # noqa: S301  (our own)
        assert found == [(array.tobytes(), array.flags.writeable) for array in copies]
        for array, copy in zip(copies, returned, strict=True):
            assert (copy.dtype, copy.shape, copy.strides) == (
                (array.dtype, array.shape, array.strides)
            )
            assert copy.tobytes() == array.tobytes()
            assert copy.flags.writeable == array.flags.writeable


def test_a_large_message_before_small_ones() -> None:
    """Memory that only the large one needed is given back."""
    large = np.arange((channel._KEPT_MEMORY >> 3) + 1000)
    small = [np.arange(1 << 14) + number for number in range(3)]
    with ForkedWorkers([lambda array: array + 1], Processes(1)) as forked:
        worker = forked.workers[0]
        sizes = []
        for array in (small[0], large, small[1], small[2], large):
            assert np.array_equal(worker(array), array + 1)
            sizes.append(max(shared_memories()))
        assert sizes == [1 << 20, 1 << 27, 1 << 20, 1 << 20, 1 << 27]
    assert not shared_memories()


def test_an_array_that_grows_and_results_that_stay() -> None:
    """A result is a copy: the next message does not change it."""
    sizes = [5, 1 << 15, 1 << 18, 3 << 18, 1 << 15, 1 << 20]
    arrays = [np.full(size, number) for number, size in enumerate(sizes)]
    replies = sent([[array, array[: size // 2]] for array, size in zip(arrays, sizes, strict=True)])
    for array, (returned, _) in zip(arrays, replies, strict=True):
        assert np.array_equal(returned[0], array)
        assert np.array_equal(returned[1], array[: array.size // 2])


def test_shared_objects_are_the_same_in_both_processes() -> None:
    shared = [lambda: None, object(), Path(os.devnull).open("rb")]  # noqa: SIM115  (not picklable)

    def numbers(message: Sequence[object]) -> object:
        return [[each is one for one in shared].index(True) for each in message], message

    with ForkedWorkers([numbers], Processes(1, shared)) as forked, shared[2]:
        found, returned = forked.workers[0]([shared[2], shared[0], shared[1], shared[0]])
    assert found == [2, 0, 1, 0]
    assert [each is shared[number] for each, number in zip(returned, found, strict=True)]


def test_an_object_in_a_message_twice_is_one_object() -> None:
    array = np.arange(1 << 16)
    (returned, _), *_ = sent([[array, array]])
    assert returned[0] is returned[1]


@pytest.mark.parametrize("size", [0, 1, 1 << 16, 3 << 20])
def test_objects_without_arrays(size: int) -> None:
    message = {"text": "x" * size, "bytes": b"y" * size, "rows": tuple(range(size >> 4))}
    assert sent([message, None, message]) == [(message, []), (None, []), (message, [])]


def test_the_other_process_has_ended() -> None:
    one, other = channel.Channel.pair([])
    other.close_connection()
    with pytest.raises(channel.EndedError):
        one.receive()
    with pytest.raises(channel.EndedError):
        one.send("message")
    one.close()


def test_the_other_process_ends_within_a_message() -> None:
    one, other = channel.Channel.pair([])
    os.write(other._connection.fileno(), b"\x00\x00\x01\x00half")
    other.close_connection()
    with pytest.raises(channel.EndedError):
        one.receive()
    one.close()


def test_an_object_that_cannot_be_pickled_leaves_the_channel_as_it_is() -> None:
    one, other = channel.Channel.pair([])
    with pytest.raises(Exception, match=r"pickle|local"):
        one.send([np.arange(1 << 16), lambda: None])
    one.send("next")
    assert other.receive() == "next"
    other.close_connection()
    one.close()


def test_descriptors_that_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    made = os.memfd_create
    left = iter([True])

    def memfd_create(name: str) -> int:
        if not next(left, False):
            raise OSError(24, "Too many open files")
        return made(name)

    monkeypatch.setattr(os, "memfd_create", memfd_create)
    with pytest.raises(OSError, match="Too many"):
        channel.Channel.pair([])
