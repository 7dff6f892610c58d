"""Results as columns: their short form, and tables of pandas, which is imported when needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


class Columns(Sized):
    """Base of results: dataclasses of columns, which are shown by their names only.

    Names and alleles may be millions.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in fields(cast("Any", self)))
        return f"{type(self).__name__}({len(self):,} rows: {names})"


def data_frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table of columns of one length, in their order.

    Raises
    ------
    UsageError
        pandas is not installed.
    """
    return _pandas().DataFrame(dict(columns))


def names_column(numbers: NDArray[np.integer[Any]], names: Sequence[str]) -> Any:
    """Return a column of names, in little memory: a categorical.

    `numbers`, any integer dtype[n], are the rows of its values in `names`.

    Raises
    ------
    UsageError
        pandas is not installed.
    """
    return _pandas().Categorical.from_codes(numbers, categories=list(names))


def _pandas() -> Any:
    try:
        import pandas as pd  # noqa: PLC0415  (optional, and slow to import)
    except ImportError as error:
        raise UsageError("to_dataframe: pandas is missing; run: pip install pandas") from error
    return pd
