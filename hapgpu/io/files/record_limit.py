"""Limit on the size of a record, which bounds the memory of a reader."""

from __future__ import annotations

from typing import Final

from hapgpu.errors import InputError

MAX_RECORD: Final = 1 << 28
"""Bytes of the longest record, and of the longest header, by default."""
LARGEST_LIMIT: Final = 2**31 - 1
"""BAM stores the size of a record, and blocks of text store offsets, in 32 bits."""

_MIB: Final = 1 << 20


def too_long(what: str, limit: int) -> InputError:
    """Return the error for `what`, such as `reads.fq, record 3`, if it exceeds the limit."""
    size = f"{limit:,} bytes" if limit % _MIB else f"{limit // _MIB:,} MiB"
    return InputError(f"{what}: longer than {size}; raise --max-record")
