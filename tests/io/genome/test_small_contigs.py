"""Bases of many contigs at once, against the reads of one contig after the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.genome import small_contigs
from hapgpu.io.genome.fai import read_fai
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region
from hapgpu.io.genome.small_contigs import small_contig_bases

_CONTIGS = st.lists(
    st.tuples(
        st.text("ACGTNacgt", max_size=12),
        st.sampled_from(["", " text", "\tmore >x", " "]),
        st.sampled_from(["", "", "", "\n", "\n\n"]),
    ),
    min_size=1,
    max_size=8,
)
_CHANGES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 4), st.integers(-2, 2)), max_size=2)


def write(
    path: Path, contigs: Sequence[tuple[str, str, str]], width: int, newline: str, *, is_bgzf: bool
) -> Path:
    """Write contigs of bases, description and blank lines, with their index."""
    text = ""
    for number, (bases, description, blank) in enumerate(contigs):
        rows = [bases[start : start + width] for start in range(0, len(bases), width)]
        text += "\n".join([f">c{number}{description}", *rows, ""]) + blank
    path.write_bytes(text.replace("\n", newline).encode())
    if is_bgzf:
        pysam.tabix_compress(str(path), f"{path}.gz")
        path = path.with_name(f"{path.name}.gz")
    pysam.faidx(str(path))
    return path


def change(index: Path, changes: Sequence[tuple[int, int, int]]) -> None:
    """Add to numbers of an index, or give a line another name."""
    lines = [line.split("\t") for line in index.read_text().splitlines()]
    for row, column, difference in changes:
        fields = lines[row % len(lines)]
        fields[column] = str(max(int(fields[column]) + difference, 0)) if column else "other"
    index.write_text("".join("\t".join(fields) + "\n" for fields in lines))


def one_by_one(path: Path, name: str, position: int) -> tuple[bytes, str]:
    """Return the base of a contig, or the error."""
    try:
        with ReferenceFasta(path) as reference:
            return reference.fetch(Region(name, position, position + 1)), ""
    except InputError as error:
        return b"", str(error)


@pytest.mark.parametrize("is_bgzf", [False, True])
@given(
    contigs=_CONTIGS,
    width=st.integers(1, 5),
    newline=st.sampled_from(["\n", "\r\n"]),
    changes=_CHANGES,
    is_split=st.booleans(),
)
def test_bases_and_errors_as_one_by_one(
    *,
    contigs: list[tuple[str, str, str]],
    width: int,
    newline: str,
    changes: list[tuple[int, int, int]],
    is_bgzf: bool,
    is_split: bool,
) -> None:
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        if is_split:
            patch.setattr(small_contigs, "_WINDOW", 16)
        rows = [*contigs, ("ACG", "", "")]  # samtools indexes no file that ends without bases
        path = write(Path(directory, "r.fa"), rows, width, newline, is_bgzf=is_bgzf)
        change(Path(f"{path}.fai"), changes)
        try:
            lengths = read_fai(path).lengths
        except InputError:
            return
        wanted = [(name, length // 2) for name, length in lengths.items() if length]
        single = [one_by_one(path, name, position) for name, position in wanted]
        for chosen in ([not error for _, error in single], [True] * len(single)):
            names = [name for name, _ in compress(wanted, chosen)]
            positions = np.array([at for _, at in compress(wanted, chosen)], dtype=np.int64)
            errors = [error for _, error in compress(single, chosen) if error]
            with ReferenceFasta(path) as reference:
                if errors:
                    with pytest.raises(InputError, match=re.escape(errors[0])):
                        reference.bases_at(names, positions)
                else:
                    bases = reference.bases_at(names, positions).tobytes()
                    assert bases == b"".join(base for base, _ in single)


def test_contigs_that_are_read_together(tmp_path: Path) -> None:
    """Not the last, which no header follows, nor those beside blank lines or empty contigs."""
    rows = [
        ("ACGTACGTA", " text", ""),
        ("ACG", "", ""),
        ("", "", ""),
        ("AC", "", "\n"),
        ("A", "", ""),
    ]
    rows += [("CATG", "", ""), ("T", "", "")]
    path = write(tmp_path / "r.fa", rows, 4, "\n", is_bgzf=False)
    index, data = read_fai(path), path.read_bytes()

    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    def found(names: Sequence[str]) -> tuple[bytes, list[bool]]:
        positions = np.array([index.lengths[name] // 2 for name in names], dtype=np.int64)
        bases, are_found = small_contig_bases(index, read, names, positions)
        return bases[are_found].tobytes(), are_found.tolist()

    assert found(["c5", "c0", "c1"]) == (b"TAC", [True, True, True])
    assert found(["c0", "c3"]) == (b"", [False, False])
    assert found(["c0", "c6"]) == (b"A", [True, False])
    assert found(["c4"]) == (b"", [False])
    Path(f"{path}.fai").write_text(Path(f"{path}.fai").read_text().replace("c1", "x1"))
    index = read_fai(path)
    assert found(["c0", "x1"]) == (b"", [False, False])
    assert found(["c0"]) == (b"A", [True])
