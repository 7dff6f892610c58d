"""Contig names that SAM allows."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Section 1.2.1 of the SAM specification; section 1.4.7 of the VCF 4.3 specification is the same.
_PATTERN = r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*"
_CONTIG_NAME = re.compile(_PATTERN)
_CONTIG_NAMES = re.compile(f"(?:{_PATTERN}\n)*+")


def is_contig_name(name: str) -> bool:
    """Tell whether SAM and VCF allow a contig name."""
    return _CONTIG_NAME.fullmatch(name) is not None


def are_contig_names(names: Sequence[str]) -> bool:
    """Tell whether SAM and VCF allow all of some contig names."""
    text = "\n".join([*names, ""])
    return text.count("\n") == len(names) and _CONTIG_NAMES.fullmatch(text) is not None
