"""Progress on standard error."""

from __future__ import annotations

import io

import pytest

from hapgpu.cli.terminal.progress import LineProgress, choose_progress
from hapgpu.cli.terminal.progress_bar import BarProgress
from hapgpu.runtime.progress import NoProgress, Progress, TqdmProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_every_30_seconds() -> None:
    now = 100.0
    stream = io.StringIO()
    progress = LineProgress("hapgpu realign", stream, clock=lambda: now)
    progress.start(5000)
    for _ in range(7):
        now += 10
        progress.advance(500)
    progress.finish()
    assert stream.getvalue().splitlines() == [
        "hapgpu realign: 1,500 of 5,000 reads, 50 reads/s, 30 s",
        "hapgpu realign: 3,000 of 5,000 reads, 50 reads/s, 60 s",
    ]


@pytest.mark.parametrize(
    ("stderr", "stdout", "quiet", "kind"),
    [
        (Terminal(), io.StringIO(), False, BarProgress),
        (Terminal(), Terminal(), False, LineProgress),
        (io.StringIO(), io.StringIO(), False, LineProgress),
        (Terminal(), io.StringIO(), True, NoProgress),
    ],
)
def test_kind_of_progress(
    monkeypatch: pytest.MonkeyPatch,
    stderr: io.StringIO,
    stdout: io.StringIO,
    kind: type,
    *,
    quiet: bool,
) -> None:
    monkeypatch.setattr("sys.stderr", stderr)
    monkeypatch.setattr("sys.stdout", stdout)
    assert type(choose_progress("hapgpu realign", quiet=quiet)) is kind


@pytest.mark.parametrize("total", [None, 10])
@pytest.mark.parametrize("kind", [BarProgress, TqdmProgress])
def test_bars_count_on_standard_error_only(
    kind: type,
    total: int | None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # makes rich treat a file as a terminal
    progress: Progress = kind("hapgpu realign")
    progress.start(total)
    progress.advance(4)
    progress.advance(6)
    progress.finish()
    shown = capsys.readouterr()
    assert not shown.out
    assert "10" in shown.err
