"""Kernels that pack and search reads, with their parameters."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np

from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Parameter, Scalar, Struct

BWT: Final = Struct(
    "bwt",
    (
        Array("occurrences", np.uint32, "blocks", width=8),
        Length("blocks"),
        Scalar("primary", np.uint32),
    ),
)
_JUMP = Struct(
    "jump",
    (
        Array("rows", np.uint32, "entries"),
        Scalar("length", np.int32),
        Scalar("entries", np.int32),
    ),
)
_SUFFIXES = Struct(
    "suffixes",
    (
        Array("positions", np.uint32, "count"),
        Length("count"),
        Array("marks", np.uint64, "mark_words"),
        Array("mark_ranks", np.uint32, "mark_words"),
        Scalar("mark_words", np.int32),
    ),
)
_REFERENCE = Struct(
    "reference",
    (
        Array("planes", np.uint64, "blocks", width=2),
        Array("others", np.uint64, "blocks"),
        Length("blocks"),
        Array("other_blocks", np.uint32, "other_words"),
        Length("other_words"),
        Array("contig_offsets", np.int64, "contigs", 1),
        Scalar("contigs", np.int32),
    ),
)
READS: Final = Struct(
    "reads",
    (
        Array("words", np.uint64, "total_words", width=6),
        Array("word_offsets", np.int32, "count", 1),
        Array("lengths", np.int32, "count"),
        Length("total_words"),
        Length("count"),
    ),
)
"""`DevicePackedReads`."""
_SEEDS = Struct(
    "seeds",
    (
        Array("first_rows", np.uint32, "count"),
        Array("read_offsets", np.int32, "count"),
        Array("ends", np.int64, "count", 1),
        Length("count"),
    ),
)
_SEED_ENDS = Array("seed_ends", np.int64, "seeds", 1)
_CANDIDATES = Scalar("candidates", np.int32)
_OWNERS = Array("owners", np.int32, "candidates")
_CANDIDATE_HITS = Array("candidate_hits", np.uint64, "candidates", width=2)
_HIT_COUNTS = Array("hit_counts", np.int32, "candidates", 1)
_HIT_ENDS = Array("hit_ends", np.int32, "candidates", 1)

SLOTS: Final = 128
"""Hits of 32 successive reads, one warp, for which there is room; as in the source."""
SEARCH_THREADS: Final = 128
"""Threads of a thread block of `search_reads`, as in the source."""
_SLOTS = Array("slots", np.uint64, "warps", width=SLOTS)

_SEED = (
    BWT,
    _JUMP,
    READS,
    Scalar("min_read_bases", np.int32),
    Array("first_rows", np.uint32, "seeds"),
    Array("read_offsets", np.int32, "seeds"),
    Array("row_counts", np.int64, "seeds", 1),
    Scalar("seeds", np.int32),
)
_SEEDED: Final[tuple[Parameter, ...]] = (
    BWT,
    _SUFFIXES,
    _REFERENCE,
    READS,
    _SEEDS,
    Scalar("indels", np.int32),
)
_VERIFY = (
    *_SEEDED,
    Scalar("start", np.int64),
    _OWNERS,
    _CANDIDATE_HITS,
    _HIT_COUNTS,
    _CANDIDATES,
)


def _distances(length: str) -> tuple[Array, ...]:
    """Declare the numbers of hits of each read without an error, and with one."""
    return Array("exact", np.int32, length), Array("inexact", np.int32, length)


_SURVEY = (
    *_SEEDED,
    Array("chosen", np.int64, "chosen_reads"),
    Length("chosen_reads"),
    Scalar("most", np.int32),
    Array("offsets", np.int64, "reads.count", 1),
    Array("hits", np.uint64, "hit_count"),
    Length("hit_count"),
    *_distances("reads.count"),
)

_TEXT = Struct("text", (Array("bytes", np.uint8, "size"), Scalar("size", np.int64)))

_SLOT_STARTS = Array("slot_starts", np.uint8, "count")
_FOUND: Final[tuple[Parameter, ...]] = (
    Array("hit_counts", np.int64, "count", 1),
    *_distances("count"),
)
_OTHERS = Array("others", np.int32, "count")
_OTHER_COUNT = Array("other_count", np.uint64, "one")
_REST = (Array("rest", np.int32, "count"), Array("rest_count", np.uint64, "one"))
_OF_TEXT: Final[tuple[Parameter, ...]] = (
    BWT,
    _JUMP,
    _SUFFIXES,
    _REFERENCE,
    _TEXT,
    Array("starts", np.int32, "count"),
    Array("lengths", np.int32, "count"),
)
_SEARCH: Final[tuple[Parameter, ...]] = (
    *_OF_TEXT,
    Scalar("min_read_bases", np.int32),
    Scalar("indels", np.int32),
    Scalar("count", np.int32),
    _SLOTS,
    Length("warps"),
    _SLOT_STARTS,
    *_FOUND,
    _OTHERS,
    _OTHER_COUNT,
    *_REST,
    Length("one"),
)
_REPEATS: Final[tuple[Parameter, ...]] = (
    *_OF_TEXT,
    Scalar("indels", np.int32),
    Scalar("count", np.int32),
    _OTHERS,
    _OTHER_COUNT,
    Struct("pool", (Array("hits", np.uint64, "size"), Scalar("size", np.int64))),
    Array("pool_used", np.uint64, "one"),
    Array("pool_starts", np.int32, "count"),
    *_FOUND,
    *_REST,
    Length("one"),
)

COUNT_WORDS: Final = Kernel(
    "shortread/pack_reads.cu",
    "count_words",
    (
        Array("lengths", np.int32, "reads"),
        Array("word_counts", np.int64, "reads", 1),
        Scalar("reads", np.int32),
    ),
)
PACK_READS: Final = Kernel(
    "shortread/pack_reads.cu",
    "pack_reads",
    (
        _TEXT,
        Array("starts", np.int32, "reads"),
        Array("lengths", np.int32, "reads"),
        Array("word_ends", np.int64, "reads", 1),
        Array("word_offsets", np.int32, "reads", 1),
        Array("words", np.uint64, "total_words", width=6),
        Scalar("reads", np.int32),
        Length("total_words"),
    ),
)
EXPAND_SEEDS: Final = Kernel(
    "shortread/search.cu",
    "expand_seeds",
    (
        _SEED_ENDS,
        Scalar("seeds", np.int32),
        Scalar("start", np.int64),
        Scalar("end", np.int64),
        _OWNERS,
        Length("candidates"),
    ),
)
COLLECT: Final = Kernel(
    "shortread/search.cu",
    "collect",
    (
        _CANDIDATE_HITS,
        _HIT_ENDS,
        _OWNERS,
        _CANDIDATES,
        Scalar("seeds_per_read", np.int32),
        Array("hits", np.uint64, "count"),
        Array("hit_reads", np.int32, "count"),
        Length("count"),
    ),
)
END_READS: Final = Kernel(
    "shortread/search.cu",
    "end_reads",
    (
        _SEED_ENDS,
        Length("seeds"),
        Scalar("seeds_per_read", np.int32),
        _HIT_ENDS,
        _CANDIDATES,
        Scalar("start", np.int64),
        Scalar("base", np.int64),
        Array("offsets", np.int64, "reads", 1),
        Scalar("reads", np.int32),
    ),
)
_HITS_OF_READS = (
    Array("hits", np.uint64, "count"),
    Array("hit_reads", np.int32, "count"),
    Scalar("count", np.int64),
)
ORDER_HITS: Final = Kernel(
    "shortread/search.cu",
    "order_hits",
    (
        *_HITS_OF_READS,
        Array("offsets", np.int64, "reads", 1),
        Length("reads"),
        Scalar("max_ranked", np.int32),
        Array("ordered_offsets", np.int64, "reads", 1),
        Array("ordered", np.uint64, "ordered_count"),
        Length("ordered_count"),
        Array("has_more", np.int32, "one"),
        Length("one"),
    ),
)

_OFFSETS: Final = Array("offsets", np.int64, "reads", 1)
_PLACED: Final[tuple[Parameter, ...]] = (Array("hits", np.uint64, "hit_count"), Length("hit_count"))
PLACE_HITS: Final = Kernel(
    "shortread/place_hits.cu",
    "place_hits",
    (
        _SLOTS,
        Length("warps"),
        Array("slot_starts", np.uint8, "reads"),
        _OFFSETS,
        Scalar("reads", np.int32),
        _PLACED[0],
        Scalar("hit_count", np.int64),
    ),
)
PLACE_POOL_HITS: Final = Kernel(
    "shortread/place_hits.cu",
    "place_pool_hits",
    (
        Array("pool", np.uint64, "pool_size"),
        Length("pool_size"),
        Array("pool_starts", np.int32, "reads"),
        Array("others", np.int32, "reads"),
        _OTHER_COUNT,
        Length("one"),
        _OFFSETS,
        Scalar("reads", np.int32),
        _PLACED[0],
        Scalar("hit_count", np.int64),
    ),
)
PLACE_OTHER_HITS: Final = Kernel(
    "shortread/place_hits.cu",
    "place_other_hits",
    (
        Array("other_hits", np.uint64, "other_hit_count"),
        Length("other_hit_count"),
        Array("other_offsets", np.int64, "count", 1),
        Array("others", np.int32, "count"),
        Scalar("count", np.int32),
        _OFFSETS,
        Length("reads"),
        *_PLACED,
    ),
)
KEY_HITS: Final = Kernel(
    "shortread/search.cu", "key_hits", (*_HITS_OF_READS, Array("keys", np.uint64, "count"))
)
COUNT_DISTANCES: Final = Kernel(
    "shortread/search.cu",
    "count_distances",
    (
        Array("hits", np.uint64, "count"),
        Length("count"),
        Array("offsets", np.int64, "reads", 1),
        Scalar("reads", np.int32),
        *_distances("reads"),
    ),
)


@functools.cache
def seed_kernel(strands: int, pieces: int) -> Kernel:
    """Return the kernel that searches the pieces of one or two strands of reads."""
    return Kernel("shortread/search.cu", f"seed<{strands}, {pieces}>", _SEED)


@functools.cache
def search_kernel(strands: int, pieces: int, words: int) -> Kernel:
    """Return the kernel that searches reads of 2 or 3 words with few candidates."""
    expression = f"search_reads<{strands}, {pieces}, {words}>"
    return Kernel("shortread/search_reads.cu", expression, _SEARCH)


@functools.cache
def repeats_kernel(strands: int, pieces: int, words: int) -> Kernel:
    """Return the kernel that searches reads of 2 or 3 words with many candidates."""
    return Kernel("shortread/repeats.cu", f"search_repeats<{strands}, {pieces}, {words}>", _REPEATS)


@functools.cache
def verify_kernel(strands: int, pieces: int) -> Kernel:
    """Return the kernel that verifies the candidates of the pieces."""
    return Kernel("shortread/search.cu", f"verify<{strands}, {pieces}>", _VERIFY)


@functools.cache
def survey_kernel(strands: int, pieces: int) -> Kernel:
    """Return the kernel that counts the hits of reads with many candidates."""
    return Kernel("shortread/survey.cu", f"survey<{strands}, {pieces}>", _SURVEY)


def all_kernels() -> Iterator[Kernel]:
    """Yield every kernel of this module."""
    yield from (COUNT_WORDS, PACK_READS, EXPAND_SEEDS, COLLECT, END_READS)
    yield from (ORDER_HITS, KEY_HITS, COUNT_DISTANCES)
    yield from (PLACE_HITS, PLACE_POOL_HITS, PLACE_OTHER_HITS)
    for strands, pieces in product((1, 2), (1, 2)):
        yield from (search_kernel(strands, pieces, words) for words in (2, 3))
        yield from (repeats_kernel(strands, pieces, words) for words in (2, 3))
        yield seed_kernel(strands, pieces)
        yield verify_kernel(strands, pieces)
        yield survey_kernel(strands, pieces)
