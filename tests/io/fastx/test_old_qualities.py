"""Phred+64 is noticed, and no other qualities are taken for it."""

from __future__ import annotations

import gzip
import logging
from itertools import cycle, islice
from pathlib import Path

import pytest

from hapgpu.io.fastx.limits import warn_of_old_qualities

HIFI = bytes(range(ord("0"), ord("~") + 1))


def fastq(letters: bytes, qualities: int = 3000, ends: bytes = b"\n") -> bytes:
    """Make records of 100 bases whose qualities repeat these letters."""
    values = bytes(islice(cycle(letters), qualities))
    rows = [values[at : at + 100] for at in range(0, qualities, 100)]
    lines = [
        part for k, row in enumerate(rows) for part in (b"@r%d ~" % k, b"A" * len(row), b"+", row)
    ]
    return ends.join([*lines, b""])


def warnings(text: bytes, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        warn_of_old_qualities("x.fq", text)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("letters", "found"),
    [
        (b"BDNS^a`fgh", "'B' to 'h'"),  # Illumina 1.5: no quality below 2
        (b"@ABPX]bh", "'@' to 'h'"),  # Illumina 1.3
        (b";<=>PX]bh", "';' to 'h'"),  # Solexa, from -5
        (b"EJTVWi", "'E' to 'i'"),  # Illumina 1.7
        (b"BCDET", "'B' to 'T'"),
    ],
)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_old(letters: bytes, found: str, ends: bytes, caplog: pytest.LogCaptureFixture) -> None:
    text = f"x.fq: qualities from {found} look like Phred+64, but are read as Phred+33"
    (message,) = warnings(fastq(letters, ends=ends), caplog)
    assert message == f"{text}; convert them: seqtk seq -Q64 -V"


@pytest.mark.parametrize(
    "letters",
    [
        b"#,:F",  # NovaSeq
        b"#*5?I",  # NovaSeq X
        b"DFGHIJK",  # Illumina 1.8, good bases only
        b"@BDFHIJMPS",  # up to Q50, good bases only
        b"I",
        b"h",
        b"~",
        b"BEhi",  # made up: four values
        b":BDNS^a`fgh",  # one lower than Solexa's
        b"BDNS^a`fghj",  # one higher than Illumina's
        HIFI,
        HIFI[11:],  # PacBio HiFi, good bases only: up to Q93
    ],
)
def test_others(letters: bytes, caplog: pytest.LogCaptureFixture) -> None:
    assert not warnings(fastq(letters), caplog)


def test_one_low_quality_is_enough(caplog: pytest.LogCaptureFixture) -> None:
    text = fastq(b"BDNS^a`fgh", 50_000)
    assert warnings(text, caplog)
    at = text.rindex(b"\n", 0, len(text) - 1) + 50
    assert not warnings(text[:at] + b"#" + text[at + 1 :], caplog)


def test_few_qualities_tell_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert not warnings(fastq(b"BDNS^a`fgh", 999), caplog)
    assert warnings(fastq(b"BDNS^a`fgh", 1000), caplog)


def test_fasta_and_other_text(caplog: pytest.LogCaptureFixture) -> None:
    for text in (b"", b"@", b">r\n" + b"BDNS^a`fgh" * 300, b"@HD\tVN:1.6\n"):
        assert not warnings(text, caplog)


@pytest.mark.parametrize("cut", [10_000, 1 << 16])
def test_real_reads(data_dir: Path, caplog: pytest.LogCaptureFixture, cut: int) -> None:
    """Qualities of Illumina, Nanopore and PacBio; those of Illumina also shifted by 31."""
    files = sorted(data_dir.rglob("*.f*q.gz"))
    assert files
    for path in files:
        with gzip.open(path) as stream:
            text = stream.read(cut)
        assert not warnings(text, caplog), path
        lines = text.split(b"\n")
        lines[3::4] = [bytes(min(letter + 31, 126) for letter in line) for line in lines[3::4]]
        values = {letter for line in lines[3::4] for letter in line}
        total = sum(map(len, lines[3::4]))
        is_illumina = max(values) <= ord("i") and len(values) >= 5 and total >= 1000
        assert bool(warnings(b"\n".join(lines), caplog)) == is_illumina, path
