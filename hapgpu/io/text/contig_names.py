"""Contig names that SAM allows."""

from __future__ import annotations

import re

# Section 1.2.1 of the SAM specification; section 1.4.7 of the VCF 4.3 specification is the same.
_CONTIG_NAME = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")


def is_contig_name(name: str) -> bool:
    """Tell whether SAM and VCF allow a contig name."""
    return _CONTIG_NAME.fullmatch(name) is not None
