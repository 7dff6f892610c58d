"""Whether a run reads only the reads at some positions, through the index of their file."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Final

from hapgpu.cli.options.files import Values
from hapgpu.io.files.file_kind import read_head

_LOCUS: Final = re.compile(
    rb"\s*>\S*(::[^\s:]+:\d+-[1-9]\d*(\(\+\))?[ \t\r\n]|[ \t]+\S+:[1-9]\d*-[1-9]\d*[ \t\r\n])"
)
"""A header line whose locus is in its usual place, see `parse_locus`."""


def selects_reads(values: Values) -> bool:
    """Tell whether -r or -L is given, or haplotypes have loci."""
    return bool(values["regions"] or values["targets_file"] or has_loci(values))


def has_loci(values: Values) -> bool:
    """Tell whether the first haplotype has a locus: then all have.

    False also for a file that cannot be read, for a pipe, and for loci in unusual places: the
    reader finds these.
    """
    path = values["haplotypes"]
    try:
        is_file = path is not None and Path(path).is_file()
        return is_file and _LOCUS.match(read_head(path).text) is not None
    except (OSError, zlib.error):
        return False
