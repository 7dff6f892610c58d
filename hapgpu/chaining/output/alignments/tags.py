"""Tags of mappings with base alignments, in the order in which minimap2 writes them.

Positions are addresses; see `hapgpu.io.text.at_addresses`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.options import Difference
from hapgpu.chaining.output.alignments.cigars import Alignment
from hapgpu.chaining.output.alignments.differences import put_cs, put_ds, put_md
from hapgpu.io.text.at_addresses import (
    put_byte,
    put_copy,
    put_fraction,
    put_head,
    put_number_tag,
    tag_head,
)
from hapgpu.io.text.fields import TAB
from hapgpu.runtime.jit import njit, njit_inlined

_NM: Final = tag_head("NM", "i")
_MS: Final = tag_head("ms", "i")
_AS: Final = tag_head("AS", "i")
_NN: Final = tag_head("nn", "i")
_TP: Final = tag_head("tp", "A")
_CM: Final = tag_head("cm", "i")
_S1: Final = tag_head("s1", "i")
_S2: Final = tag_head("s2", "i")
_DE: Final = tag_head("de", "f")
_ZD: Final = tag_head("zd", "i")
RL: Final = tag_head("rl", "i")
_MD: Final = tag_head("MD", "Z")
_CS: Final = tag_head("cs", "Z")
_DS: Final = tag_head("ds", "Z")
_SHORT, _LONG = np.int64(0), np.int64(1)
_TYPES: Final = np.frombuffer(b"SPiI", dtype=np.uint8)
_TAG_MD, _TAG_CS, _TAG_LONG_CS, _TAG_DS = (
    Difference.MD.value,
    Difference.CS.value,
    Difference.LONG_CS.value,
    Difference.DS.value,
)


@njit_inlined
def edit_distance(mapping: Any) -> Integer:
    """Return the mismatches, ambiguous bases, and bases in gaps of an alignment (tag NM)."""
    errors = np.int64(mapping.length) - np.int64(mapping.matches)
    return errors + np.int64(mapping.ambiguous)


@njit_inlined
def _divergence(mapping: Any) -> float:
    """Return the fraction of differences, a gap of any length as one (tag de)."""
    columns = np.int64(mapping.length) + mapping.ambiguous - mapping.gap_bases + mapping.gaps
    return float(1.0 - np.float64(mapping.matches) / np.float64(columns))


@njit
def put_tags(at: Integer, mapping: Any) -> Integer:
    """Write the tags from NM to zd; a mapping without an alignment has fewer."""
    is_primary = mapping.number == mapping.parent
    if mapping.operations:
        at = put_number_tag(at, _NM, edit_distance(mapping))
        at = put_number_tag(at, _MS, np.int64(mapping.first_dp_max))
        at = put_number_tag(at, _AS, np.int64(mapping.dp_score))
        at = put_number_tag(at, _NN, np.int64(mapping.ambiguous))
    kind = _TYPES[np.int64(is_primary) + 2 * np.int64(mapping.is_inversion)]
    at = put_byte(put_head(at, _TP), kind)
    at = put_number_tag(at, _CM, np.int64(mapping.anchors))
    at = put_number_tag(at, _S1, np.int64(mapping.score))
    if is_primary:
        at = put_number_tag(at, _S2, np.int64(mapping.second_score))
    if mapping.operations:
        at = put_fraction(put_head(at, _DE), _divergence(mapping))
    if mapping.split:
        at = put_number_tag(at, _ZD, np.int64(mapping.split))
    return at


@njit
def put_difference(at: Integer, mapping: Any, alignment: Alignment, tag: Integer) -> Integer:
    """Write the tag of a `Difference`, if there is an alignment."""
    if alignment.operation_count == 0:
        return at
    if tag == _TAG_MD:
        return put_md(put_head(at, _MD), alignment)
    if tag == _TAG_CS:
        return put_cs(put_head(at, _CS), alignment, _SHORT)
    if tag == _TAG_LONG_CS:
        return put_cs(put_head(at, _CS), alignment, _LONG)
    if tag == _TAG_DS:
        query_length = np.int64(mapping.query_end) - mapping.query_start
        target_length = np.int64(mapping.target_end) - mapping.target_start
        return put_ds(put_head(at, _DS), alignment, query_length, target_length)
    return at


@njit_inlined
def put_comment(at: Integer, read: Any) -> Integer:
    """Write a tab and the comment of a read, if there is one."""
    if read.comment_length == 0:
        return at
    return put_copy(put_byte(at, TAB), read.comment, read.comment_length)
