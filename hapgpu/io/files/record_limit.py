"""How long one record may be, which bounds the memory that a file makes its reader take."""

from __future__ import annotations

from typing import Final

from hapgpu.errors import InputError

MAX_RECORD: Final = 1 << 28
"""Bytes of a record, or of a header as a whole, unless the user allows more."""
LARGEST_LIMIT: Final = 2**31 - 1
"""BAM counts the bytes of a record, and blocks of text their places, by numbers of 32 bits."""

_MIB: Final = 1 << 20


def too_long(what: str, limit: int) -> InputError:
    """Return the error for `what`, such as `reads.fq: record 3`, that is longer than the limit."""
    size = f"{limit:,} bytes" if limit % _MIB else f"{limit // _MIB:,} MiB"
    return InputError(f"{what} is longer than {size}; raise --max-record")
