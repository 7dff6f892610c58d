"""Peculiarities of htslib, the library that pysam wraps."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pysam

INDEX_DELIMITER: Final = "##idx##"
"""htslib splits a name here into the name of a file and the name of its index."""


def has_index_delimiter(path: str | Path) -> bool:
    """Tell whether htslib would split this name, and so not find the file."""
    return INDEX_DELIMITER in str(path)


@contextmanager
def silent_htslib() -> Iterator[None]:
    """Keep htslib from printing errors that pysam raises as well."""
    before = pysam.set_verbosity(0)
    try:
        yield
    finally:
        pysam.set_verbosity(before)


def release_freed_memory() -> None:
    """Return to the system what htslib has freed, where the C library keeps it for later calls.

    htslib holds the header of a file in millions of small parts, and glibc keeps them: 250 MB for
    half a million contigs, which neither Python nor numpy would use again.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(ctypes.c_size_t(0))
