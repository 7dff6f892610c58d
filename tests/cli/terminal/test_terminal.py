"""What commands show on a terminal: a bar while they run, and a summary at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np
import pytest

from hapgpu.cli.terminal.summary import summary_lines
from tests.cli.terminal.pseudo_terminal import run_on_terminal

READS = "@r1\nACGTTTGACAACGGATTACA\n+\nIIIIIIIIIIIIIIIIIIII\n@r2\nAC\n+\nII\n"
PROGRAM: Final = """
import logging, sys, time
import rich.console, rich.progress_bar, rich.table  # may take longer than the bar
from hapgpu.cli.terminal import live_line
from hapgpu.cli.terminal.messages import set_up_messages
from hapgpu.cli.terminal.progress import BarProgress

drawn, draw = [], live_line.draw
live_line.draw = lambda line: drawn.append(line) or draw(line)

def wait_for(text):
    while not any(text in line for line in drawn):
        time.sleep(0.01)

set_up_messages("map", quiet=False, verbose=False, debug=False)
bar = BarProgress("hapgpu map", "reads", time.monotonic() - 10)
bar.start(1000)
wait_for(" 0 %")
time.sleep(0.5)  # fewer than 1,000 reads per second
bar.advance(400)
logging.getLogger("hapgpu").warning("a message")
wait_for("40 %")
bar.finish()
print("end", file=sys.stderr)
"""


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    path = tmp_path / "ref.fa"
    path.write_text(">one\n" + "ACGTTTGACAACGGATTACATTCCGAGT" * 40 + "\n")
    (tmp_path / "reads.fq").write_text(READS)
    return path


def command_line(reference: Path, *more: str | Path) -> list[str | Path]:
    reads = reference.with_name("reads.fq")
    return ["map", reference, reads, "--device", "cpu", "-t", "1", *more]


def test_messages_are_above_the_bar() -> None:
    shown = run_on_terminal(PROGRAM, columns=60, environment={"COLUMNS": "200"})
    assert shown.lines == ["hapgpu map: a message", "end"]
    assert re.fullmatch(r"hapgpu map ━+ +0 % 0 of 1,000 reads \d+:\d\d *", shown.bars[0])
    assert re.fullmatch(r"hapgpu map ━+\S* +40 % .*\d+ reads/s \d+:\d\d left", shown.bars[-1])
    assert all(len(bar) < 60 for bar in shown.bars)
    assert shown.text.rindex("\x1b[?25h") > shown.text.rindex("\x1b[?25l")


def test_a_bar_without_colours() -> None:
    shown = run_on_terminal(PROGRAM, environment={"NO_COLOR": "1"})
    assert "\x1b[38" not in shown.text
    assert "40 %" in shown.bars[-1]


def test_a_terminal_of_unknown_width() -> None:
    shown = run_on_terminal(PROGRAM, columns=0)
    assert "40 %" in shown.bars[-1]
    assert all(len(bar) < 80 for bar in shown.bars)


@pytest.mark.parametrize(("seconds", "end"), [(0.06, "s"), (0.1, "s after 0.1 s of compiling")])
def test_compiling_is_named_if_it_took_long(seconds: float, end: str) -> None:
    spent = {"map": 1.0, "compile": seconds, "total": 2 + seconds}
    statistics = {"counts": {}, "seconds": spent, "stage_threads": {"map": 1, "compile": 1}}
    lines = [*summary_lines(statistics, ["reads", "mapped"], "-")]
    written = "written to standard output; busy: map 50 %"
    assert lines == ["no reads", f"0 reads/s, 2.00 {end}", written]


def test_a_summary_of_three_lines(reference: Path, tmp_path: Path) -> None:
    output = tmp_path / "hits.sam"
    run_on_terminal(command_line(reference, "-o", output))  # compiles
    shown = run_on_terminal(command_line(reference, "-o", output))
    assert shown.status == 0
    assert not shown.bars
    counts, rate, where = shown.lines[-3:]
    assert counts == "hapgpu map: 2 reads, 1 mapped, 40 hits, 41 records"
    assert re.fullmatch(r"hapgpu map: [\d.,k]+ reads/s, \d+\.\d\d s(?: after .*)?", rate)
    assert re.fullmatch(rf"hapgpu map: written to {output}; busy: (\w+ \d+ %(, |$)){{3}}", where)


def test_silence(reference: Path, tmp_path: Path) -> None:
    quiet = run_on_terminal(command_line(reference, "-o", tmp_path / "hits.sam", "-q"))
    assert (quiet.status, quiet.text) == (0, "")
    reading, writing = os.pipe()
    piped = run_on_terminal(command_line(reference), stdout=writing)
    os.close(writing)
    with os.fdopen(reading) as stream:
        assert stream.read().count("\nr1\t") == 40
    assert "written to" not in piped.text


@pytest.mark.parametrize(("option", "lines"), [("-t1", 0), ("-v", 3)])
def test_a_summary_in_a_log_file_only_if_it_is_asked_for(
    reference: Path, tmp_path: Path, option: str, lines: int
) -> None:
    words = map(str, command_line(reference, "-o", tmp_path / "hits.sam", option))
    run = subprocess.run(
        [sys.executable, "-c", "from hapgpu.cli.app import main; main()", *words],
        stderr=subprocess.PIPE,
        check=True,
        text=True,
    )
    summary = re.findall("2 reads,|reads/s|written to", run.stderr)
    assert len(summary) == lines
    assert "\x1b" not in run.stderr


@contextmanager
def slow_reads(directory: Path, seconds: float) -> Iterator[Path]:
    """Yield a pipe from which reads come for some time, at most until the end of the context."""
    pipe = directory / "pipe"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR)  # for both: neither end waits for the other
    text = b"@r3\nAC\n+\nII\n" * 20_000
    has_ended = Event()

    def feed() -> None:
        for _ in range(int(10 * seconds)):
            os.write(descriptor, text)
            if has_ended.wait(0.1):
                break
        os.close(descriptor)

    with ThreadPoolExecutor(1) as pool:
        fed = pool.submit(feed)
        yield pipe
        has_ended.set()
        rest = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        while not fed.done():  # the command may have ended before its input
            with suppress(BlockingIOError):
                os.read(rest, len(text))
        os.close(rest)


@pytest.mark.exhaustive
@pytest.mark.parametrize("columns", [40, 80])
def test_a_longer_run_has_a_bar(reference: Path, tmp_path: Path, columns: int) -> None:
    with slow_reads(tmp_path, 3.5) as pipe:
        words = ["map", reference, pipe, "--device", "cpu", "-o", tmp_path / "hits.sam", "-t1"]
        shown = run_on_terminal(words, columns=columns)
    assert shown.status == 0
    assert re.search(r"reads/s +\d+:\d\d$", shown.bars[-1])
    assert all(len(bar) < columns for bar in shown.bars)
    assert shown.lines[-1].startswith("hapgpu map: written to")


@pytest.mark.exhaustive
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_clean_terminal(
    reference: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    def stop(process: subprocess.Popen[Any], text: Callable[[], str]) -> None:
        while "reads/s" not in text():
            time.sleep(0.05)
        process.send_signal(number)

    with slow_reads(tmp_path, 600) as pipe:
        words = ["map", reference, pipe, "--device", "cpu", "-o", tmp_path / "hits.sam"]
        shown = run_on_terminal(words, meanwhile=stop)
    assert shown.status == status
    end = shown.text[shown.text.rindex("\x1b[?25h") :]
    assert end == "\x1b[?25h" + ("hapgpu map: stopped by SIGTERM\r\n" * (status == 143))
    assert not (tmp_path / "hits.sam").exists()


@pytest.mark.exhaustive
def test_the_first_run_shows_what_it_compiles(reference: Path, tmp_path: Path) -> None:
    words = command_line(reference, "-o", tmp_path / "hits.sam")
    cache = {"HAPGPU_CACHE_DIR": str(tmp_path / "cache")}
    shown = run_on_terminal(words, columns=120, environment=cache)
    compiling = r"hapgpu map, compiling .* \d+ % \d+ of \d+ functions .*/s 0:\d\d left"
    assert any(re.fullmatch(compiling, bar) for bar in shown.bars)
    assert "s of compiling" in shown.lines[-2]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("options", "bases"), [([], 30_000_000), (["--minimizers"], 100_000_000)])
def test_an_index_shows_its_phases(tmp_path: Path, options: list[str], bases: int) -> None:
    genome = tmp_path / "genome.fa"
    letters = np.random.default_rng(1).choice(np.frombuffer(b"ACGT", np.uint8), bases)
    genome.write_bytes(b">one\n" + letters.tobytes() + b"\n")
    output = tmp_path / "index"
    shown = run_on_terminal(["index", genome, *options, "-o", output], columns=120)
    assert shown.status == 0
    assert re.search(r"hapgpu index: \w+.* \d+ % .* bases/s \d+:\d\d left", shown.bars[-1])
    assert shown.lines[-3] == f"hapgpu index: {bases:,} bases, 1 contig"
