"""The first run of a command, and the cache of compiled functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from hapgpu.runtime import jit


def test_the_first_run_of_each_command_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "_CACHE", tmp_path / "cache")
    assert [jit.is_first_run(command) for command in ("map", "map", "realign")] == [
        True,
        False,
        True,
    ]


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(jit, "_CACHE", tmp_path / "file" / "cache")
    assert jit.is_first_run("map")
