"""Names of files of intervals.

Command lines are checked before a run imports NumPy, so this module does not import it.
"""

from __future__ import annotations

import os
from typing import Final

from hapgpu.io.files.names import extension_of, is_bgzf_name

_COMPRESSED: Final = frozenset({"bed", "interval_list", "vcf"})
"""Extensions that may be followed by .gz or .bgz."""
_EXTENSIONS: Final = _COMPRESSED | {"bcf", "list", "intervals"}


def names_file(value: str) -> bool:
    """Tell whether a value of -L is the name of a file, not an interval.

    It is if the file exists, or the name has the extension of a file of intervals.
    """
    return value == "-" or _is_file(value) or interval_extension(value) in _EXTENSIONS


def interval_extension(value: str) -> str:
    """Return the extension of a file of intervals, without .gz or .bgz if it may have it."""
    extension = extension_of(value)
    return "" if is_bgzf_name(value) and extension not in _COMPRESSED else extension


def _is_file(value: str) -> bool:
    """Tell whether there is a file of this name, or a pipe; a directory is none."""
    return os.path.exists(value) and not os.path.isdir(value)  # noqa: PTH110, PTH112  (never raise)
