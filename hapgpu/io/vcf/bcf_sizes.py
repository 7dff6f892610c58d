"""Checks of the sizes in a BCF file, before htslib allocates memory for them."""

from __future__ import annotations

import re
import struct
import sys
from io import BufferedIOBase, RawIOBase
from typing import Any, Final

from hapgpu.errors import InputError
from hapgpu.io.files.record_limit import too_long

_MAGIC: Final = b"BCF\2"
_HEADER_SIZE: Final = struct.Struct("<5xI")  # after magic and version
_INDEX: Final = re.compile(rb"IDX=(\d{1,20})")
_INDEX_BYTES: Final = 24  # of the longest match
_USUAL_INDEX: Final = 1 << 20
"""IDX up to which any header is accepted: htslib allocates as many entries as the largest IDX."""
_RECORD_SIZES: Final = struct.Struct("<II20xI")
"""Sizes of the shared and the per-sample data and, after five other fields, the samples."""
_RECORD_PRELUDE: Final = 8
_SAMPLES: Final = (1 << 24) - 1


class CheckedBcf(RawIOBase):
    """Stream of inflated BCF that raises an error before a header or record that is too long.

    Parameters
    ----------
    stream
        The BCF, at its start.
    name
        Name of the file, for messages.
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
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes; raise an InputError that names a record that is too long."""
        view = memoryview(buffer)
        got = self._stream.readinto(view)
        self._check(bytes(view[:got]))
        return got

    def _check(self, text: bytes) -> None:
        text = self._pending + text
        at = self._skipped
        if self._records < 0 and not _MAGIC.startswith(text[: len(_MAGIC)]):
            self._skipped = sys.maxsize  # htslib raises the error
            return
        if self._records < 0 and len(text) >= _HEADER_SIZE.size:
            size = _HEADER_SIZE.unpack_from(text)[0]
            self._check_size(size, "header")
            self._records = 0
            at = self._header_bytes = self._header_left = _HEADER_SIZE.size + size
        while self._records >= 0 and at + _RECORD_SIZES.size <= len(text):
            shared, own, samples = _RECORD_SIZES.unpack_from(text, at)
            self._records += 1
            self._check_size(shared + own, f"record {self._records}")
            if samples & _SAMPLES > self._header_bytes:  # the header names each sample
                raise InputError(
                    f"{self._name}, record {self._records}: claims {samples & _SAMPLES:,} samples,"
                    " more than the header names; copy the file again"
                )
            at += _RECORD_PRELUDE + shared + own
        if self._header_left:
            self._check_indexes(text)
        self._pending = text[at:]
        self._skipped = max(at - len(text), 0)

    def _check_size(self, size: int, what: str) -> None:
        if size > self._max_record:
            raise too_long(f"{self._name}, {what}", self._max_record)

    def _check_indexes(self, text: bytes) -> None:
        """Check the numbers (IDX) of contigs and tags in the header."""
        part = self._header_tail + text[: self._header_left]
        limit = max(self._header_bytes, _USUAL_INDEX)
        for found in _INDEX.finditer(part):
            if int(found[1]) >= limit:
                raise InputError(
                    f"{self._name}, header: IDX={found[1].decode()} of a contig or tag is too"
                    " large; run: bcftools reheader"
                )
        self._header_left -= min(len(text), self._header_left)
        self._header_tail = part[-_INDEX_BYTES:]
