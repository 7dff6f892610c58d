"""Positions of a run in its inputs."""

from __future__ import annotations

from pathlib import Path

from hapgpu.runtime.inputs import expect, expect_file, fraction_read, note_position


def test_the_fraction_of_all_inputs(tmp_path: Path) -> None:
    file = tmp_path / "reads.fq"
    file.write_bytes(b"x" * 30)
    expect_file("standard input", file)
    expect("ranges", 10)
    both = ["standard input", "ranges"]
    assert fraction_read(both) == 0
    note_position("standard input", 20)
    assert fraction_read(both) == 0.5
    note_position("ranges", 100)
    assert fraction_read(both) == 0.75
    expect("ranges", 20)
    assert fraction_read(both) == 0.4


def test_inputs_of_unknown_size(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for path in ("/dev/null", tmp_path / "missing", tmp_path / "empty"):
        expect("unknown", 5)
        expect_file("unknown", path)
        note_position("unknown", 3)
        assert fraction_read(["unknown"]) is None
    assert fraction_read([]) is None
    assert fraction_read(["never expected"]) is None
