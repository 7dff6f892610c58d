"""Header of a BAM file, as far as its first bytes tell."""

from __future__ import annotations

import re
from typing import Final

_PREFIX_BYTES: Final = 8
_COUNT_BYTES: Final = 4
_ORDER: Final = re.compile(rb"@HD\t(?:[^\n]*\t)?SO:(\w+)")


def sort_order(head: bytes) -> str:
    """Return the sort order (SO) that a BAM header declares, empty for none.

    Parameters
    ----------
    head
        The first bytes of the file, inflated.
    """
    found = _ORDER.match(head, _PREFIX_BYTES)
    return found[1].decode() if found else ""


def lists_no_contig(head: bytes) -> bool:
    """Tell whether a BAM header has no @SQ line; False if it is longer than the head."""
    text_bytes = int.from_bytes(head[_COUNT_BYTES:_PREFIX_BYTES], "little")
    count = head[_PREFIX_BYTES + text_bytes :][:_COUNT_BYTES]
    return len(count) == _COUNT_BYTES and not any(count)
