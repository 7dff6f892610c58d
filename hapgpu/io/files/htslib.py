"""Peculiarities of the library below pysam."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pysam

INDEX_DELIMITER: Final = "##idx##"
"""At this, htslib parts a name into that of a file and that of its index."""


def is_parted(path: str | Path) -> bool:
    """Tell whether htslib would not find a file of this name."""
    return INDEX_DELIMITER in str(path)


@contextmanager
def silent_htslib() -> Iterator[None]:
    """Keep htslib from printing faults that pysam raises as well."""
    before = pysam.set_verbosity(0)
    try:
        yield
    finally:
        pysam.set_verbosity(before)
