"""Names of contigs, as SAM allows them."""

from __future__ import annotations

import re

# Section 1.2.1 of the SAM specification and, the same, 1.4.7 of that of VCF 4.3.
_CONTIG_NAME = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")


def is_contig_name(name: str) -> bool:
    """Tell whether SAM, and VCF, allow a name for a reference sequence."""
    return _CONTIG_NAME.fullmatch(name) is not None
