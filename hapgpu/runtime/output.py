"""Results of a worker, and the sink that writes and counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from hapgpu.runtime.statistics import RunStatistics

Content = TypeVar("Content")
In = TypeVar("In")
Out = TypeVar("Out")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Output(Generic[Content]):
    """Result of a worker for one batch.

    Attributes
    ----------
    content
        What is written: bytes of text, records, or a method's own parts.
    counts
        Counts of the batch by name, such as `reads`, which are added to the counts of the run.
    units
        Progress that the batch makes, in units of the pipeline's total, such as reads or bases.
    """

    content: Content
    counts: Mapping[str, int]
    units: int


@dataclass(frozen=True, slots=True)
class Divided(Generic[In, Out]):
    """Result of a worker that divides its batch into parts: the first result, and the other parts.

    Attributes
    ----------
    result
        The result of the first part.
    rest
        The other parts, in order: batches for any worker, which may divide them again.
    """

    result: Out
    rest: Sequence[In]


_ItemByItem: TypeAlias = Divided[Any, Output[Iterable[Item]]]


class PartByPart(Generic[In, Item]):
    """Worker that gives the items of an output one by one, each made after the one before is sent.

    For workers in processes of their own, which send what they make: it need not fit the memory.

    Parameters
    ----------
    worker
        Its outputs have iterables of items, which may be made as they are iterated over.
    """

    def __init__(self, worker: Callable[[In], Output[Iterable[Item]]]) -> None:
        self._worker = worker

    def __call__(self, batch: In | Callable[[], _ItemByItem[Item]]) -> _ItemByItem[Item]:
        """Compute a batch, or the next part of one, whose rest is a function of its process."""
        if callable(batch):
            return batch()
        output = self._worker(batch)
        return _next_part(iter(output.content), output)


def _next_part(items: Iterator[Item], output: Output[Iterable[Item]]) -> _ItemByItem[Item]:
    """Return an output with the next item instead of its content, and the function for the rest."""
    for item in items:
        rest = partial(_next_part, items, Output([], {}, 0))
        return Divided(replace(output, content=[item]), [rest])
    return Divided(replace(output, content=[]), ())


def joined(
    outputs: Sequence[Output[Content]], join: Callable[[Sequence[Content]], Content]
) -> Output[Content]:
    """Join the outputs of consecutive parts of a batch, at least one: sum counts and units."""
    counts: Counter[str] = Counter()
    for output in outputs:
        counts.update(output.counts)
    content = join([output.content for output in outputs])
    return Output(content, counts, sum(output.units for output in outputs))


class CountingSink(Generic[Content]):
    """Sink of a pipeline: writes each output and adds its counts to the statistics of the run.

    Parameters
    ----------
    write
        Writes the content of an output.
    statistics
        Receives the counts.
    """

    def __init__(self, write: Callable[[Content], object], statistics: RunStatistics) -> None:
        self._write = write
        self._statistics = statistics

    def __call__(self, output: Output[Content]) -> int:
        """Write an output and count it; return its units."""
        self._write(output.content)
        self._statistics.add(output.counts)
        return output.units
