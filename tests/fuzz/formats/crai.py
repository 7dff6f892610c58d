"""CRAI: gzip around lines of numbers; records are lines, fields numbers and separators."""

from __future__ import annotations

import gzip
from random import Random

from tests.fuzz.formats import text
from tests.fuzz.formats.framing import inflated
from tests.fuzz.inputs.fields import Document


def split(data: bytes) -> Document:
    """Cut an index into its lines."""
    return text.splitter(1)(inflated(data))


def join(document: Document, random: Random) -> bytes:
    """Return the index, compressed again."""
    return gzip.compress(text.join(document, random), mtime=0)
