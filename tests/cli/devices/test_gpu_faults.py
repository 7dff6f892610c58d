"""GPUs that are lost, missing, full or shared: the same results, or a one-line error."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from tests.cli.devices.gpu_runs import (
    GPU,
    RUNS,
    Run,
    content_of,
    make_inputs,
    names_in,
    status_of,
)

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).resolve().parents[3]
HAPGPU = [sys.executable, "-c", "from hapgpu.cli.app import main; main()"]
FAULTY = [sys.executable, "-m", "tests.cli.devices.faulty_gpu"]
LITTLE_FREE = 700 << 20
TIMEOUT = 120
USE_MEMORY = f"""
import sys, cupy
free, _ = cupy.cuda.Device(0).mem_info
cupy.cuda.runtime.malloc(free - {LITTLE_FREE})
print("ready", flush=True)
sys.stdin.read()
"""
WITHOUT_INDEX = [name for name in RUNS if name != "index"]  # it takes no --gpu-mem
RESUMING = {
    "realign",
    "on-reference",
    "by-likelihood",
    "on-reference-by-likelihood",
    "amplicons",
    "pairhmm",
    "extended-matrix",
    "batches",
    "genotype",
}
"""Runs without an index: data that do not fit at once are computed in pieces."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_inputs(tmp_path_factory.mktemp("gpu") / "inputs")


@pytest.fixture(scope="module")
def expected(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the results of each run without faults, the same on a GPU and on the CPU."""
    directory = tmp_path_factory.mktemp("expected")
    found = {}
    for run in RUNS.values():
        output = run.output(directory)
        contents = []
        for device in (GPU, "cpu"):
            assert status_of(run, inputs, output, device) == 0
            contents.append(content_of(output))
        assert contents[0] == contents[-1], run.name
        found[run.name] = contents[0]
    return found


@pytest.fixture(autouse=True)
def all_memory() -> Iterator[None]:
    """Free the GPU memory of a run in this process, and its limit, before the next."""
    cupy = pytest.importorskip("cupy")
    yield
    cupy.get_default_memory_pool().set_limit(size=0)
    cupy.get_default_memory_pool().free_all_blocks()


def environment(**variables: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **variables}


def started(command: list[str], run: Run, inputs: Path, output: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command, run.command, *run.arguments(inputs, output), "--device", GPU],
        env=environment(),
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_refused(run: Run, directory: Path, printed: str, pattern: str) -> None:
    """Check that there is one line of error, and no output."""
    lines = printed.splitlines()
    assert len(lines) == 1, printed
    assert lines[0].startswith(f"hapgpu {run.command}: error: ")
    assert re.search(pattern, lines[0]), printed
    assert not names_in(directory)


NO_MEMORY = "too little (free )?memory|may be used for it|does not fit into the memory"


def check_same_or_no_memory(
    status: int, run: Run, directory: Path, expected: dict[str, Any], printed: str
) -> None:
    if status:
        assert status == 3
        check_refused(run, directory, printed, NO_MEMORY)
    else:
        assert content_of(run.output(directory)) == expected[run.name]


@pytest.mark.parametrize("memory", ["1M", "16M", "100M"])
@pytest.mark.parametrize("name", WITHOUT_INDEX)
def test_little_memory(
    name: str,
    memory: str,
    inputs: Path,
    expected: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = RUNS[name]
    status = status_of(run, inputs, run.output(tmp_path), GPU, "--gpu-mem", memory)
    check_same_or_no_memory(status, run, tmp_path, expected, capsys.readouterr().err)
    assert status == 0 or (memory != "100M" and name not in RESUMING)


@contextmanager
def nearly_full() -> Iterator[None]:
    """Make another process use almost all memory of the GPU."""
    other_process = subprocess.Popen(
        [sys.executable, "-c", USE_MEMORY],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with other_process:
        assert other_process.stdout is not None
        assert other_process.stdout.readline() == "ready\n"
        yield


@pytest.mark.gpu(alone=True)
def test_memory_that_another_process_uses(
    inputs: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    with nearly_full():
        for run in RUNS.values():
            output = run.output(tmp_path)
            assert status_of(run, inputs, output, GPU) == 0, run.name
            assert content_of(output) == expected[run.name], run.name


class FailingAllocator:
    """Allocator in front of CuPy's pool that fails for some requests."""

    def __init__(self, fails: Callable[[int, int], bool]) -> None:
        self._fails = fails
        self._lock = Lock()
        self.sizes: list[int] = []

    def __call__(self, size: int) -> Any:
        import cupy  # noqa: PLC0415  (only where there is a GPU)

        with self._lock:
            self.sizes.append(size)
            number = len(self.sizes)
        if self._fails(number, size):
            raise cupy.cuda.memory.OutOfMemoryError(size, 0)
        return cupy.get_default_memory_pool().malloc(size)


def status_with(
    fails: Callable[[int, int], bool], run: Run, inputs: Path, output: Path
) -> tuple[int, list[int]]:
    """Run with an allocator that fails; return the status and the requested sizes."""
    import cupy  # noqa: PLC0415  (as above)

    allocator = FailingAllocator(fails)
    cupy.cuda.set_allocator(allocator)
    try:
        return status_of(run, inputs, output, GPU), allocator.sizes
    finally:
        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)


@pytest.mark.parametrize("name", RUNS)
def test_memory_that_runs_out_once(
    name: str,
    inputs: Path,
    expected: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = RUNS[name]
    output = run.output(tmp_path)
    _, sizes = status_with(lambda *_: False, run, inputs, output)
    total = len(sizes)
    for at in sorted({1, 2, total // 4, total // 2, 3 * total // 4, total} - {0}):
        output.unlink(missing_ok=True)
        status, _ = status_with(lambda number, _, at=at: number == at, run, inputs, output)  # type: ignore[misc]
        check_same_or_no_memory(status, run, tmp_path, expected, capsys.readouterr().err)
        assert status == 0 or name not in RESUMING, f"allocation {at} of {total}"


@pytest.mark.parametrize("share", [2, 8, 64])
@pytest.mark.parametrize("name", RUNS)
def test_memory_that_is_never_enough_for_the_largest(
    name: str,
    share: int,
    inputs: Path,
    expected: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = RUNS[name]
    output = run.output(tmp_path)
    _, sizes = status_with(lambda *_: False, run, inputs, output)
    output.unlink()
    max_size = max(sizes) // share
    status, _ = status_with(lambda _, size: size > max_size, run, inputs, output)
    check_same_or_no_memory(status, run, tmp_path, expected, capsys.readouterr().err)


def launches_of(run: Run, inputs: Path, directory: Path) -> int:
    ended = started([*FAULTY, "nothing", "0"], run, inputs, run.output(directory))
    _, printed = ended.communicate(timeout=TIMEOUT)
    assert ended.returncode == 0, printed
    run.output(directory).unlink()
    (number,) = re.fullmatch(r"launches: (\d+)\n", printed).groups()  # type: ignore[union-attr]
    return int(number)


@pytest.mark.parametrize("kind", ["address", "trap"])
@pytest.mark.parametrize("name", [name for name in RUNS if name != "index"])
def test_a_kernel_that_fails(name: str, kind: str, inputs: Path, tmp_path: Path) -> None:
    """The context is lost then: no result, no hang, no messages of destructors."""
    run = RUNS[name]
    total = launches_of(run, inputs, tmp_path)
    assert total
    for number in sorted({1, (total + 1) // 2, total} if kind == "address" else {total}):
        ended = started([*FAULTY, kind, str(number)], run, inputs, run.output(tmp_path))
        _, printed = ended.communicate(timeout=TIMEOUT)
        assert ended.returncode == 3, printed
        in_batch = number == total and name != "anchors"
        pattern = r"failed \(.*\) \(in batch \d+ of the input\)$" if in_batch else r"failed \("
        check_refused(run, tmp_path, printed, pattern)


@pytest.mark.parametrize("visible", ["", "-1", "99"])
def test_no_visible_gpu(visible: str, inputs: Path, tmp_path: Path) -> None:
    run = RUNS["chain"]
    arguments = run.arguments(inputs, run.output(tmp_path))

    def ended_on(device: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*HAPGPU, run.command, *options, "--device", device],
            env=environment(CUDA_VISIBLE_DEVICES=visible),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )

    refused = ended_on(GPU, *arguments)
    assert refused.returncode == 3
    check_refused(run, tmp_path, refused.stderr, "device 'cuda': ")
    done = ended_on("auto", *(word for word in arguments if word != "-q"))
    assert done.returncode == 0
    assert "hapgpu chain: device: CPU, " in done.stderr
    assert run.output(tmp_path).stat().st_size


def test_three_runs_at_once(inputs: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    runs = [RUNS[name] for name in ("on-reference", "pairhmm", "map")]
    all_started = [started(HAPGPU, run, inputs, run.output(tmp_path)) for run in runs]
    for run, process in zip(runs, all_started, strict=True):
        _, printed = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, printed) == (0, "")
        assert content_of(run.output(tmp_path)) == expected[run.name]


@pytest.fixture(scope="module")
def many_reads(inputs: Path) -> Run:
    """Return a run that uses the GPU for some time."""
    reads = (inputs / "reads.fastq.gz").read_bytes()
    (inputs / "many.fastq.gz").write_bytes(reads * 300)
    return Run("many", "map", ("reference.fa", "many.fastq.gz"), ".sam", ("--no-PG",))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals(number: signal.Signals, inputs: Path, many_reads: Run, tmp_path: Path) -> None:
    output = many_reads.output(tmp_path)
    start = time.perf_counter()
    whole = started(HAPGPU, many_reads, inputs, output)
    whole.communicate(timeout=TIMEOUT)
    seconds = time.perf_counter() - start
    complete = content_of(output)
    for share in (0.5, 0.7, 0.8, 0.9):
        output.unlink(missing_ok=True)
        process = started(HAPGPU, many_reads, inputs, output)
        time.sleep(share * seconds)
        process.send_signal(number)
        _, printed = process.communicate(timeout=TIMEOUT)
        assert "Traceback" not in printed
        assert process.returncode in {0, 128 + number}
        if process.returncode == 0:  # it had ended, or nearly
            assert content_of(output) == complete
        else:
            assert not names_in(tmp_path)
