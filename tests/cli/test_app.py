"""The command line as a whole: start-up, help, faults and exit statuses."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hapgpu
from hapgpu.cli.catalogue import COMMANDS, METHODS, description_of
from hapgpu.cli.help import help_text
from hapgpu.cli.terminal.messages import explain
from hapgpu.errors import DeviceError, HapgpuError, InputError, OutputError, UsageError

REPORT = "run it again with --debug and report the output"
LEAVES = [
    *([name] for name in COMMANDS if name != "bench"),
    *(["bench", name] for name in METHODS),
]
HEAVY = {"numpy", "cupy", "numba", "pysam", "isal", "deflate", "tqdm"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def faulty(tmp_path: Path) -> list[str]:
    """Arguments that start hapgpu with a subcommand `doctor` that runs given code."""
    (tmp_path / "doctor.py").write_text(
        "from typing import Annotated\n"
        "import typer\n"
        "from hapgpu.cli.options.files import CommandFiles\n"
        "EXAMPLES, FILES = '', CommandFiles()\n"
        "def doctor(code: str, debug: Annotated[bool, typer.Option()] = False) -> None:\n"
        "    exec(code)\n"
    )
    start = (
        "import sys; from hapgpu.cli import commands;"
        f"commands.__path__.insert(0, {str(tmp_path)!r});"
        "from hapgpu.cli.app import main; main()"
    )
    return [sys.executable, "-c", start, "doctor"]


def run_faulty(faulty: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*faulty, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["completion", "bash"],
        *([*words, "--help"] for words in LEAVES),
    ],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-c", "from hapgpu.cli.app import main; main()"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()
    }
    assert "typer" in imported
    assert not imported & HEAVY


def test_help_lists_every_command() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert all(command in done.stdout for command in COMMANDS)


@pytest.mark.parametrize("words", [[], ["map"], ["bench"], ["bench", "map"]], ids=" ".join)
def test_all_forms_of_help_are_equal(words: list[str]) -> None:
    shown = run("help", *words)
    assert shown.returncode == 0
    assert shown.stdout.startswith(f"Usage: {' '.join(['hapgpu', *words])} ")
    assert {run(*words, "--help").stdout, run(*words, "-h").stdout} == {shown.stdout}


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_help_fits_80_columns(words: list[str]) -> None:
    lines = help_text(*words).splitlines()
    assert not [line for line in lines if len(line) > 80]
    assert not [line for line in lines if re.search(r"<(bool|int|float|path|text)\b| x<=", line)]


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_examples_can_be_copied(words: list[str]) -> None:
    text = description_of(*words).examples.replace("\\\n", "")
    commands = [line for line in text.splitlines() if line and not line.endswith(":")]
    assert commands
    for line in commands:
        assert line.startswith(("hapgpu ", "source <(hapgpu ", "fpath+=")), line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("map", "map: error: no arguments; usage: hapgpu map [OPTIONS] REF.fa|INDEX READS..."),
        ("bench", "bench: error: no command; usage: hapgpu bench COMMAND [OPTIONS]"),
    ],
)
def test_a_command_without_arguments(arguments: str, message: str) -> None:
    done = run(*arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"hapgpu {message}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("relign", ": error: relign: no such command; did you mean realign? Run: hapgpu --help"),
        ("bench mapp", " bench: error: mapp: no such command; did you mean map? Run: hapgpu bench"),
        ("map --treads 3", " map: error: --treads: no such option; did you mean --threads? Run: "),
        (
            "genotype a.bam ref.fa a.vcf --prior=flt",
            " genotype: error: --prior 'flt': must be one of flat, population; did you mean flat?",
        ),
        (
            "map ref.fa a.fq -t 0",
            " map: error: -t: must be a whole number from 1 to 4,096; run: hapgpu map --help",
        ),
    ],
)
def test_the_word_that_was_meant(arguments: str, message: str) -> None:
    done = run(*arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"hapgpu{message}")


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"hapgpu {hapgpu.__version__}\n")


@pytest.mark.parametrize("arguments", [["nonsense"], ["--nonsense"], ["doctor", "--nonsense"]])
def test_usage_errors(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "nonsense" in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    ("code", "status", "line"),
    [
        (
            "from hapgpu.errors import InputError; raise InputError('x.bam: cut\\nshort')",
            1,
            "hapgpu doctor: error: x.bam: cut short",
        ),
        (
            "from hapgpu.errors import InputError; raise InputError('x\\x1b[31m\\x7f\\udc80')",
            1,
            "hapgpu doctor: error: x\\x1b[31m\\x7f\\udc80",
        ),
        ("open('absent.bam')", 1, "hapgpu doctor: error: absent.bam: No such file or directory"),
        (
            "raise ValueError('odd')",
            1,
            f"hapgpu doctor: error: unexpected ValueError: odd; {REPORT}",
        ),
        ("raise KeyboardInterrupt", 130, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise typer.Exit(3)", 3, ""),
    ],
)
def test_fault_is_one_line_and_a_status(
    faulty: list[str], code: str, status: int, line: str
) -> None:
    done = run_faulty(faulty, code)
    assert (done.returncode, done.stderr.strip(), done.stdout) == (status, line, "")


def test_debug_shows_where_an_error_came_from(faulty: list[str]) -> None:
    done = run_faulty(faulty, "raise ValueError('odd')", "--debug")
    assert done.returncode == 1
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.endswith(f"hapgpu doctor: error: unexpected ValueError: odd; {REPORT}\n")


def test_fault_while_options_are_read_is_one_line(faulty: list[str], tmp_path: Path) -> None:
    (tmp_path / "doctor.py").write_text(
        "from typing import Annotated\n"
        "import typer\n"
        "from hapgpu.errors import DeviceError\n"
        "from hapgpu.cli.options.files import CommandFiles\n"
        "EXAMPLES, FILES = '', CommandFiles()\n"
        "def refuse(text):\n"
        "    raise DeviceError(f'no {text} here')\n"
        "def doctor(x: Annotated[str, typer.Option(parser=refuse)] = None) -> None:\n"
        "    pass\n"
    )
    done = run_faulty(faulty, "--x", "cake")
    assert (done.returncode, done.stderr) == (3, "hapgpu doctor: error: no cake here\n")


def test_fault_on_import_is_one_line(faulty: list[str], tmp_path: Path) -> None:
    (tmp_path / "doctor.py").write_text("import no_such_module_anywhere\n")
    done = run_faulty(faulty)
    assert done.returncode == 1
    assert done.stderr.startswith("hapgpu doctor: error: unexpected ModuleNotFoundError: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (HapgpuError("x"), 1),
        (InputError("x"), 1),
        (UsageError("x"), 2),
        (DeviceError("x"), 3),
        (OutputError("x"), 4),
        (OSError(errno.ENOSPC, "No space left on device"), 4),
        (PermissionError(errno.EACCES, "Permission denied", "x.bam"), 1),
        (MemoryError(), 1),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
    ],
)
def test_status_of_each_kind_of_error(error: BaseException, status: int) -> None:
    assert explain(error)[0] == status


def test_a_removed_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "removed"
    directory.mkdir()
    monkeypatch.chdir(directory)
    directory.rmdir()
    with pytest.raises(FileNotFoundError) as raised:
        Path.cwd()
    assert explain(raised.value) == (1, "working directory: was removed; change to another one")


def test_status_of_errors_of_cuda() -> None:
    cupy = pytest.importorskip("cupy")
    lost = cupy.cuda.runtime.CUDARuntimeError(700)
    full = cupy.cuda.memory.OutOfMemoryError(1, 1)
    for error in (lost, full):
        status, message = explain(error)
        assert status == 3
        assert message.startswith("GPU: failed (")


def test_closed_output_is_quiet(faulty: list[str]) -> None:
    code = "for i in range(10**6): print(i)"
    with subprocess.Popen(
        [*faulty, code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"
        process.stdout.close()
        assert process.wait(timeout=30) == 141
        assert process.stderr is not None
        assert not process.stderr.read()


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="no /dev/full here")
def test_full_disk(faulty: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*faulty, "print(1)"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 4
    assert done.stderr == ("hapgpu doctor: error: standard output: No space left on device\n")


WAIT_FOR_INPUT = """
import sys
from hapgpu.runtime.pipeline import run_pipeline
def work(line):
    {action}
run_pipeline(sys.stdin.buffer, [work], len)
"""


def test_interrupt_while_waiting_for_input(faulty: list[str]) -> None:
    code = WAIT_FOR_INPUT.format(action="print('working', flush=True); return line")
    with subprocess.Popen(
        [*faulty, code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("line\n")
        process.stdin.flush()
        assert process.stdout.readline() == "working\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr is not None
        assert not process.stderr.read()


def test_error_while_waiting_for_input(faulty: list[str]) -> None:
    code = WAIT_FOR_INPUT.format(action="raise OSError(28, 'No space left on device')")
    with subprocess.Popen(
        [*faulty, code], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write("line\n")
        process.stdin.flush()
        assert process.wait(timeout=30) == 4
        assert process.stderr is not None
        assert process.stderr.read() == "hapgpu doctor: error: No space left on device\n"
