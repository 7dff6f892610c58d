"""Arrays of NumPy or of CuPy, for functions with one text for both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of

AnyArray: TypeAlias = Any
"""An array of NumPy in host memory, or of CuPy in the memory of a GPU."""


class AnyRagged(Protocol):
    """`Ragged`, or `DeviceRagged`."""

    @property
    def data(self) -> AnyArray:
        """Any dtype, shape [offsets[-1]]: the elements of all rows, end to end."""
        ...

    @property
    def offsets(self) -> AnyArray:
        """int64[n + 1]: row i is `data[offsets[i]:offsets[i + 1]]`."""
        ...

    @property
    def lengths(self) -> AnyArray:
        """int64[n]: the length of each row."""
        ...

    def __len__(self) -> int: ...

    def lengths_of(self, rows: AnyArray, /) -> AnyArray:
        """Return int64[r]: the lengths of `rows`, [r] of any integer dtype."""
        ...

    def take(self, rows: AnyArray, /) -> Self:
        """Gather `rows`, [r] of any integer dtype, in any order, with repeats."""
        ...


Rows = TypeVar("Rows", bound=AnyRagged)
Rows_co = TypeVar("Rows_co", bound=AnyRagged, covariant=True)


@dataclass(frozen=True, slots=True)
class ArrayKind(Generic[Rows_co]):
    """Functions on the arrays of one device.

    Attributes
    ----------
    module
        NumPy or CuPy.
    rows
        Makes rows from data and offsets.
    gather
        Copies rows from anywhere in data, by their starts and lengths.
    offsets_of
        Returns int64[n + 1]: the offsets of rows of these lengths, stored end to end.
    rows_of
        Returns int64[total]: the row of each element, by int64[n + 1] offsets and their last.
    to_host
        Returns the array in host memory.
    """

    module: ModuleType
    rows: Callable[[AnyArray, AnyArray], Rows_co]
    gather: Callable[[AnyArray, AnyArray, AnyArray], Rows_co]
    offsets_of: Callable[[AnyArray], AnyArray]
    rows_of: Callable[[AnyArray, int], AnyArray]
    to_host: Callable[[AnyArray], NDArray[Any]]


def rows_of(offsets: NDArray[np.int64], _total: int) -> NDArray[np.int64]:
    """Return int64[total]: the row of each element, by `offsets`, int64[n + 1], up to the total."""
    return np.repeat(np.arange(offsets.size - 1), lengths_of(offsets))


HOST: Final = ArrayKind(np, Ragged, Ragged.gather, offsets_of, rows_of, np.asarray)
"""NumPy."""
