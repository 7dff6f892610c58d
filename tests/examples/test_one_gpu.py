"""examples/snakemake/scripts/one_gpu.sh: commands side by side get a GPU each."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples/snakemake/scripts/one_gpu.sh"
HOLD = ["sh", "-c", "echo GPU $CUDA_VISIBLE_DEVICES; read line"]
"""Command that prints its GPU, and keeps it until its standard input is closed."""
NVIDIA_SMI = "#!/bin/sh\necho 0; echo 1\n"

pytestmark = pytest.mark.skipif(shutil.which("flock") is None, reason="flock is not installed")
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts `HOLD` on one of the visible GPUs."""
    started = []

    def starter(visible: str | None) -> subprocess.Popen[str]:
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        environment["PATH"] = os.pathsep.join([str(tmp_path), environment["PATH"]])
        environment.pop("CUDA_VISIBLE_DEVICES", None)
        if visible is not None:
            environment["CUDA_VISIBLE_DEVICES"] = visible
        process = subprocess.Popen(
            ["sh", SCRIPT, *HOLD],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield starter
    for process in started:
        process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip()


@pytest.mark.parametrize("visible", ["3,GPU-5f", None], ids=["of the environment", "of nvidia-smi"])
def test_a_gpu_each(start: Start, tmp_path: Path, visible: str | None) -> None:
    (tmp_path / "nvidia-smi").write_text(NVIDIA_SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    first, second = (visible or "0,1").split(",")
    holder = start(visible)
    assert line_of(holder) == f"GPU {first}"
    other = start(visible)
    assert line_of(other) == f"GPU {second}"
    waiting = start(visible)
    holder.kill()  # its lock goes with it
    assert line_of(waiting) == f"GPU {first}"
    assert other.poll() is None


def test_none_if_there_is_none(start: Start, tmp_path: Path) -> None:
    """Commands do not wait for each other."""
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho NVIDIA-SMI has failed\nexit 9\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    for visible in (None, "", ""):
        assert line_of(start(visible)) == "GPU"


def test_the_status_is_that_of_the_command() -> None:
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(["sh", SCRIPT, "sh", "-c", "exit 7"], env=environment, check=False)
    assert done.returncode == 7


def test_without_flock_nothing_waits(tmp_path: Path) -> None:
    environment = {"CUDA_VISIBLE_DEVICES": "0", "PATH": str(tmp_path)}
    shell = shutil.which("sh")
    assert shell is not None
    done = subprocess.run(
        [shell, SCRIPT, *HOLD],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (127, "flock: not found; install util-linux\n")


def test_a_lock_leaves_files_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    (tmp_path / f"hapgpu-{os.getuid()}-gpu-0.lock").symlink_to(file)
    environment = os.environ | {"TMPDIR": str(tmp_path), "CUDA_VISIBLE_DEVICES": "0"}
    subprocess.run(["sh", SCRIPT, "true"], env=environment, check=True)
    assert file.read_text() == "text"
