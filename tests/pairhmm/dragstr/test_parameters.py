"""Files of DRAGstr parameters, and the gap penalties of reads by them."""

from pathlib import Path

import numpy as np
import pytest

from hapgpu.cigar.read_parts import ReadParts
from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.pairhmm.dragstr.parameters import read_parameters
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.pairhmm.reads.qualities import prepared_parts
from tests.pairhmm.made_reads import write_sam

TABLES = {
    "GOP": [[47.5, 41.5, 23.25], [39.5, 38.25, 20.0]],
    "GCP": [[10.0, 10.0, 10.0], [5.0, 3.5, 1.43]],
    "API": [[33.0, 20.0, 6.0], [27.0, 14.0, 3.0]],
}


def text_of(tables: dict[str, list[list[float]]], columns: int = 3) -> str:
    lines = ["#####", "# DragstrParams", "  ".join(map(str, range(1, columns + 1)))]
    for name, rows in tables.items():
        lines += [f"{name}:", *("  ".join(f"{value:5.2f}" for value in row) for row in rows)]
    return "\n".join(lines) + "\n"


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "params.txt"
    path.write_text(text_of(TABLES))
    found = read_parameters(path)
    assert found.gap_opens.tolist() == TABLES["GOP"]
    assert found.gap_continuations.tolist() == TABLES["GCP"]
    assert found.indel_priors.tolist() == TABLES["API"]
    opens, continuations = found.read_penalties()
    assert opens.tolist() == [[40, 40, 23], [40, 38, 20]]
    assert continuations.tolist() == [[10, 10, 10], [5, 4, 1]]
    beyond = found.at(found.indel_priors, np.array([1, 2, 9]), np.array([1, 7, 2]))
    assert beyond.tolist() == [33.0, 3.0, 14.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the numbers of copies"),
        ("2 3\nGOP:\n", "expected the numbers of copies"),
        ("1 2\n3 4\n", "line 2: found '3 4', expected the name of a table"),
        ("1\nGOP:\nx\n", "line 3: found 'x', expected 1 numbers"),
        ("1\nGOP:\n40 40\n", "expected 1 numbers"),
        ("1\nGOP:\nnan\n", "expected 1 numbers"),
        ("1\nGOP:\n40\nGOP:\n40\n", "line 4: a second table GOP"),
        ("1\nGOP:\n40\nGCP:\n10\n", "no table API"),
        ("1\nGOP:\n40\nGCP:\n10\nAPI:\n1\n1\n", "tables have different sizes"),
        ("1\nGOP:\nGCP:\nAPI:\n", "table GOP has no row"),
        ("1\nGOP:\n5\nGCP:\n10\nAPI:\n1\n", "table GOP has 5, expected values from 6 to 93"),
        ("1\nGOP:\n40\nGCP:\n0.4\nAPI:\n1\n", "table GCP has 0.4"),
        ("1\nGOP:\n40\nGCP:\n10\nAPI:\n-2\n", "table API has -2"),
        ("\N{GREEK SMALL LETTER ALPHA}", "not text"),
        ("1" * 1_000_001, "over 1,000,000 bytes"),
    ],
)
def test_malformed_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "params.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as error:
        read_parameters(path)
    assert str(path) in str(error.value)


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_parameters(tmp_path / "absent")


def test_penalties_of_reads(tmp_path: Path) -> None:
    """Tags do not count; the last base of a part keeps 45 and 10; base qualities are as ever."""
    path = tmp_path / "params.txt"
    path.write_text(text_of(TABLES))
    parameters = read_parameters(path)
    bases, tag = "AACACACAGTTTTT", "BI:Z:" + 14 * "#"
    line = f"r\t0\tchr\t1\t60\t14M\t*\t0\t0\t{bases}\t{14 * 'I'}\t{tag}"
    with open_reads(str(write_sam(tmp_path / "reads.sam", 200, [line, line]))) as source:
        (batch,) = source.batches()
    parts = ReadParts(np.array([0, 1]), np.array([0, 2]), np.array([14, 6]))
    options = QualityOptions()
    found = prepared_parts(batch, parts, options, "reads", None, parameters)
    opens = [*(8 * [20]), *(5 * [23]), 45]
    # The first unit of the second part, CA, has one copy less.
    assert found.insertion_qualities.tolist() == [*opens, 40, 38, 38, 45]
    assert found.deletion_qualities is found.insertion_qualities
    continuations = [*(8 * [1]), *(6 * [10]), 10, 4, 4, 10]
    assert found.gap_continuations.tolist() == continuations
    plain = prepared_parts(batch, parts, options, "reads")
    assert found.base_qualities.tolist() == plain.base_qualities.tolist()
