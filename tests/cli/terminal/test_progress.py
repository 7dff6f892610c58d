"""Progress on standard error."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from hapgpu.cli.terminal.progress import BarProgress, LineProgress, choose_progress, line_of
from hapgpu.cli.terminal.work import Work, clock_time, short_number
from hapgpu.runtime.progress import NoProgress, TqdmProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_line_every_30_seconds() -> None:
    clock = Clock()
    stream = io.StringIO()
    progress = LineProgress("hapgpu realign", stream, clock)
    progress.start(5000)
    for _ in range(7):
        clock.now += 10
        progress.advance(500)
    progress.finish()
    assert stream.getvalue().splitlines() == [
        "hapgpu realign: 1,500 of 5,000 reads, 50 reads/s, 30 s, 70 s left",
        "hapgpu realign: 3,000 of 5,000 reads, 50 reads/s, 60 s, 40 s left",
    ]


def test_lines_of_phases() -> None:
    clock = Clock()
    stream = io.StringIO()
    progress = LineProgress("hapgpu index", stream, clock, "bases")
    progress.start(None)
    progress.phase("reading", 0.1)
    clock.now += 30
    progress.phase("sorting", 0.7, 9000)
    clock.now += 60
    progress.phase("writing", 1.0)
    progress.finish()
    assert stream.getvalue().splitlines() == [
        "hapgpu index: sorting, 900 bases, 10 %, 30 bases/s, 30 s, 270 s left",
        "hapgpu index: writing, 6,300 bases, 70 %, 70 bases/s, 90 s, 39 s left",
    ]


@pytest.mark.parametrize(
    ("stderr", "stdout", "term", "shows_output", "quiet", "kind"),
    [
        (Terminal(), io.StringIO(), "xterm", True, False, BarProgress),
        (Terminal(), Terminal(), "xterm", True, False, LineProgress),
        (Terminal(), Terminal(), "xterm", False, False, BarProgress),
        (Terminal(), io.StringIO(), "dumb", True, False, LineProgress),
        (Terminal(), io.StringIO(), "", True, False, LineProgress),
        (io.StringIO(), io.StringIO(), "xterm", True, False, LineProgress),
        (Terminal(), io.StringIO(), "xterm", True, True, NoProgress),
    ],
)
def test_kind_of_progress(
    monkeypatch: pytest.MonkeyPatch,
    stderr: io.StringIO,
    stdout: io.StringIO,
    term: str,
    kind: type,
    *,
    shows_output: bool,
    quiet: bool,
) -> None:
    monkeypatch.setattr("sys.stderr", stderr)
    monkeypatch.setattr("sys.stdout", stdout)
    monkeypatch.setenv("TERM", term)
    chosen = choose_progress(
        "hapgpu realign", quiet=quiet, unit="reads", since=0.0, shows_output=shows_output
    )
    assert type(chosen) is kind


@pytest.mark.parametrize("total", [None, 10])
def test_tqdm_counts_on_standard_error_only(
    total: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = TqdmProgress("calling", "bases")
    progress.start(total)
    progress.advance(4)
    progress.advance(6)
    progress.finish()
    shown = capsys.readouterr()
    assert not shown.out
    assert "calling" in shown.err
    assert "10" in shown.err
    assert " bases" in shown.err


def test_tqdm_estimates_an_unknown_total(capsys: pytest.CaptureFixture[str]) -> None:
    progress = TqdmProgress("genotyping", "sites")
    progress.start(None)
    progress.advance(30, 0.25)
    progress.finish()
    assert "25%" in capsys.readouterr().err


def test_tqdm_moves_by_phases(capsys: pytest.CaptureFixture[str]) -> None:
    progress = TqdmProgress("indexing", "bases")
    progress.start(None)
    progress.phase("reading", 0.1)
    progress.phase("sorting", 0.5, 200)
    progress.advance(0, 0.5)
    assert "indexing, sorting" in capsys.readouterr().err
    progress.finish()
    assert "60.0/200" in capsys.readouterr().err


def lines(work: Work, *widths: int) -> list[str]:
    """Return the line of some work on terminals of some widths."""
    found = []
    for width in widths:
        console = Console(width=width, file=io.StringIO(), color_system=None)
        with console.capture() as drawn:
            console.print(line_of("hapgpu map", "reads", work.state(), console))
        found.append(drawn.get().rstrip())
    return found


def test_lines_fit_the_terminal() -> None:
    clock = Clock()
    work = Work(clock)
    work.advance(1_234_567, 0.25)
    clock.now += 100
    wide, usual, narrow, tiny = lines(work, 120, 80, 40, 12)
    bar = "━" * 10 + " " * 30
    assert wide == f"hapgpu map {bar}  25 % 1,234,567 reads 12.3k reads/s 5:00 left"
    assert usual.startswith("hapgpu map ━")
    assert usual.endswith(" 25 % 1,234,567 reads 12.3k reads/s 5:00 left")
    assert len(usual) == 77
    assert narrow == "map  25 % 12.3k reads/s 5:00 left"
    assert tiny == "5:00 left"


def test_a_phase_moves_with_time_and_ends_in_time() -> None:
    clock = Clock()
    work = Work(clock)
    work.phase("reading", 0.1, None)
    clock.now += 1
    assert work.state().fraction is None
    work.phase("sorting", 0.5, 1000)
    clock.now += 2
    state = work.state()
    assert (state.done, state.fraction, state.seconds_left) == (
        300,
        pytest.approx(0.3),
        pytest.approx(7),
    )
    clock.now += 100
    assert work.state().fraction == 0.5
    work.phase("writing", 1.0, None)
    work.advance(0, 0.5)
    assert work.state().fraction == 0.75


def test_an_input_that_is_read_again_does_not_go_back() -> None:
    work = Work()
    work.advance(1, 0.5)
    work.advance(1, 0.25)
    assert work.state().fraction == 0.5


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.214, "0.21"),
        (57.3, "57"),
        (1250, "1,250"),
        (12_345, "12.3k"),
        (999_499, "999k"),
        (1_234_567, "1.23M"),
        (45.6e9, "45.6G"),
    ],
)
def test_short_numbers(number: float, text: str) -> None:
    assert short_number(number) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (61, "1:01"), (7384, "2:03:04")])
def test_times(seconds: float, text: str) -> None:
    assert clock_time(seconds) == text
