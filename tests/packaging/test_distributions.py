"""Sdist and wheel: their contents, and hapgpu installed from the wheel alone."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree, which
from typing import Final
from zipfile import ZipFile

import pytest

import hapgpu

pytestmark = pytest.mark.exhaustive

ROOT: Final = Path(__file__).resolve().parents[2]
NAME: Final = f"hapgpu-{hapgpu.__version__}"
QUICK: Final = ["tests/arrays", "tests/cigar", "tests/io/text", "tests/io/vcf", "tests/test_api.py"]


def files_below(*directories: str) -> Iterator[str]:
    for directory in directories:
        for path in (ROOT / directory).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the sdist and of the wheel that is built from it."""
    if find_spec("build") is None:
        pytest.skip("the package build is not installed")
    directory = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(directory), str(ROOT)]
    subprocess.run(command, capture_output=True, check=True)
    return directory


@pytest.fixture(scope="module")
def source(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the unpacked sdist."""
    directory = tmp_path_factory.mktemp("source")
    archive = built / f"{NAME}.tar.gz"
    # Python 3.11 before 3.11.4 has no filters in `tarfile`.
    subprocess.run(["tar", "-xzf", archive, "-C", directory], check=True)
    return directory / NAME


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


def test_sdist_has_what_the_project_has(source: Path) -> None:
    expected = {*files_below("hapgpu", "cuda", "tests", "docs", "examples", "packaging")}
    expected = {name for name in expected if not Path(name).name.startswith(".")}
    assert [name for name in sorted(expected) if not (source / name).is_file()] == []
    assert not (source / ".ci").exists()
    assert sum(path.stat().st_size for path in source.rglob("*")) < 20_000_000


def test_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    data = f"{NAME}.data/data/share/man/man1/"
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = {*files_below("hapgpu"), *(f"hapgpu/{name}" for name in files_below("cuda"))}
    assert {name for name in names if name.startswith("hapgpu/")} == package
    pages = runpy.run_path(str(ROOT / "packaging" / "man" / "make_pages.py"))["pages"]()
    assert names - package == {f"{data}{page}" for page in pages}
    assert {"hapgpu/py.typed", "hapgpu/runtime/compiled/signatures.json"} <= package


@pytest.mark.parametrize("command", ["twine check --strict", "check-wheel-contents"])
def test_checkers_of_distributions(command: str, wheel: Path) -> None:
    words = command.split()
    if which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    files = [wheel] if words[0] == "check-wheel-contents" else [*wheel.parent.iterdir()]
    done = subprocess.run([*words, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wheel_works_where_nothing_else_is(
    wheel: Path, source: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("installed")
    venv.create(directory / "venv", with_pip=True)
    programs = directory / "venv" / "bin"
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "VIRTUAL_ENV", "PYTEST_XDIST_WORKER"}
    }
    environment["PATH"] = f"{programs}:{environment['PATH']}"

    def run(*words: str | Path, cwd: Path = directory) -> str:
        done = subprocess.run(
            [*words], capture_output=True, text=True, check=False, cwd=cwd, env=environment
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("pip", "install", "--quiet", wheel, "pytest", "hypothesis")
    assert run("hapgpu", "--version") == f"hapgpu {hapgpu.__version__}\n"
    assert (programs.parent / "share" / "man" / "man1" / "hapgpu.1").is_file()
    run("python", source / "examples" / "make_example.py", "example")
    realign = ["hapgpu", "realign", "example/reads.bam", "example/haplotypes.fa", "-o", "out.bam"]
    run(*realign, "--reference", "example/reference.fa", "--write-index", "--device", "cpu")
    assert (directory / "out.bam.csi").is_file()
    # The tests of the sdist, with the package of the wheel.
    for name in ("hapgpu", "cuda"):
        rmtree(source / name)
    run("pytest", "-q", *QUICK, cwd=source)
