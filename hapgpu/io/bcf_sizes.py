"""The sizes that BCF claims for its header and records, checked before htslib allocates them."""

from __future__ import annotations

import re
import struct
import sys
from io import BufferedIOBase, RawIOBase
from typing import Any, Final

from hapgpu.errors import InputError
from hapgpu.io.record_limit import too_long

_MAGIC: Final = b"BCF\2"
_HEADER_SIZE: Final = struct.Struct("<5xI")  # behind magic and version
_INDEX: Final = re.compile(rb"IDX=(\d{1,20})")
_INDEX_BYTES: Final = 24  # that it takes
_USUAL_INDEX: Final = 1 << 20
"""A number that needs no justification: htslib allocates as many entries as the largest says."""
_RECORD_SIZES: Final = struct.Struct("<II")  # what samples share, and what is theirs


class CheckedBcf(RawIOBase):
    """The inflated bytes of BCF, of which none is given of a header or record that is too long.

    Parameters
    ----------
    stream
        At the beginning of the BCF.
    name
        Of it, for messages.
    max_record
        Bytes of the longest record, and of the longest header.
    """

    def __init__(self, stream: BufferedIOBase, name: str, max_record: int) -> None:
        self._stream = stream
        self._name = name
        self._max_record = max_record
        self._pending = b""
        self._skipped = 0  # bytes until the next sizes
        self._records = -1  # the header comes first
        self._header_bytes = self._header_left = 0
        self._header_tail = b""

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read; an InputError names the record that is too long."""
        view = memoryview(buffer)
        got = self._stream.readinto(view)
        self._check(bytes(view[:got]))
        return got

    def _check(self, text: bytes) -> None:
        text = self._pending + text
        at = self._skipped
        if self._records < 0 and not _MAGIC.startswith(text[: len(_MAGIC)]):
            self._skipped = sys.maxsize  # htslib refuses it
            return
        sizes = _HEADER_SIZE if self._records < 0 else _RECORD_SIZES
        while at + sizes.size <= len(text):
            size = sum(sizes.unpack_from(text, at))
            self._records += 1
            if size > self._max_record:
                what = f"record {self._records}" if self._records else "the header"
                raise too_long(f"{self._name}: {what}", self._max_record)
            if not self._records:
                self._header_bytes = self._header_left = size + sizes.size
            at += sizes.size + size
            sizes = _RECORD_SIZES
        if self._header_left:
            self._check_indexes(text)
        self._pending = text[at:]
        self._skipped = max(at - len(text), 0)

    def _check_indexes(self, text: bytes) -> None:
        """Look at the numbers that the lines of the header give to contigs and tags."""
        part = self._header_tail + text[: self._header_left]
        most = max(self._header_bytes, _USUAL_INDEX)
        for found in _INDEX.finditer(part):
            if int(found[1]) >= most:
                raise InputError(
                    f"{self._name}: the header numbers a contig or a tag {found[1].decode()} (IDX);"
                    " correct it (bcftools reheader)"
                )
        self._header_left -= min(len(text), self._header_left)
        self._header_tail = part[-_INDEX_BYTES:]
