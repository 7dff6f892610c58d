"""The parser on the GPU, against the parser on the CPU: same reads, same texts refused."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from hapgpu.errors import InputError
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS, SHORT_READS, ReadLimits
from hapgpu.io.fastx.read_block import ReadBlock, ReadSpans
from tests.io.fastx.made_texts import corrupted, well_formed

pytestmark = pytest.mark.gpu


def on_cpu(text: bytes, rules: ReadLimits, *, is_fasta: bool) -> ReadSpans | None:
    block = ReadBlock(np.frombuffer(text, dtype=np.uint8), is_fasta, 1, "r")
    try:
        return parse_block(block, rules)
    except InputError:
        return None


def check(text: bytes, rules: ReadLimits = SHORT_READS, *, is_fasta: bool) -> bool:
    """Compare both parsers, and return whether they accept the text."""
    cupy = pytest.importorskip("cupy")
    from hapgpu.io.fastx.cuda import parse_text  # noqa: PLC0415  (needs CuPy)

    expected = on_cpu(text, rules, is_fasta=is_fasta)
    on_device = cupy.asarray(np.frombuffer(text, dtype=np.uint8))
    spans = parse_text(on_device, rules, is_fasta=is_fasta)
    assert (spans is None) == (expected is None), text
    if spans is None or expected is None:
        return False
    assert len(spans) == len(expected)
    assert spans.has_qualities == expected.has_qualities
    for column in ("name_starts", "name_lengths", "base_starts", "quality_starts", "lengths"):
        if column != "quality_starts" or expected.has_qualities:
            actual = getattr(spans, column)
            assert actual.dtype == np.int32
            assert np.array_equal(actual.get(), getattr(expected, column)), column
    return True


@pytest.mark.parametrize("is_fasta", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_changed_byte(seed: int, is_fasta: bool) -> None:
    random = Random(seed)  # noqa: S311 (made text)
    text = well_formed(random, is_fasta=is_fasta)
    assert check(text, is_fasta=is_fasta)
    for other in corrupted(random, text):
        check(other, is_fasta=is_fasta)


@pytest.mark.parametrize("is_fasta", [False, True])
def test_many_reads(is_fasta: bool) -> None:
    line = b">a/1\nACGT\n" if is_fasta else b"@a/1 x\nACGT\n+\nIIII\n"
    assert check(line * 100_000, is_fasta=is_fasta)
    assert not check(line * 99_999 + line.replace(b"C", b"*"), is_fasta=is_fasta)
    assert not check(line * 100_000 + line[:3] + b"\n", is_fasta=is_fasta)


@pytest.mark.parametrize("excess", [0, 1])
def test_longest_read_and_name(excess: int) -> None:
    bases = b"A" * (SHORT_READS.max_bases + excess)
    assert check(b">a\n" + bases + b"\n", is_fasta=True) is not bool(excess)
    name = b"n" * (254 + excess)
    assert check(b">" + name + b"/1 x\nA\n", is_fasta=True) is not bool(excess)


def test_at_is_allowed_within_names_only() -> None:
    for name, is_allowed in ((b"*", True), (b"a@", True), (b"@", False), (b"@a/1", False)):
        assert check(b"@" + name + b"\nA\n+\nI\n", is_fasta=False) is is_allowed
        assert check(b">" + name + b"\nA\n", is_fasta=True) is is_allowed


@pytest.mark.parametrize("text", [b"\n", b"\n\n\n", b" \r\n", b"\n\n\n\n", b"@a\n", b"x\n"])
def test_hardly_any_text(text: bytes) -> None:
    for is_fasta in (False, True):
        check(text, is_fasta=is_fasta)


def test_all_forms_of_long_reads() -> None:
    for text in (b"@@a/1\nACGU\n+\nIIII\n", b"@" + b"n" * 65_535 + b"\nu-*.\n+\nIIII\n"):
        assert check(text, LONG_READS, is_fasta=False)
        assert not check(text, SHORT_READS, is_fasta=False)
    assert check(b">a\n" + b"A" * 2_000_000 + b"\n", LONG_READS, is_fasta=True)
    assert not check(b">" + b"n" * 65_536 + b"\nA\n", LONG_READS, is_fasta=True)
