"""What the library below pysam prints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pysam


@contextmanager
def silent_htslib() -> Iterator[None]:
    """Keep htslib from printing faults that pysam raises as well."""
    before = pysam.set_verbosity(0)
    try:
        yield
    finally:
        pysam.set_verbosity(before)
