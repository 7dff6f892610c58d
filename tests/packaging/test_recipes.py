"""The Dockerfile and the bioconda recipe: valid, and in accord with `pyproject.toml`."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from shutil import which
from typing import Any, Final

import pytest

import hapgpu
from tests.compile_kernels import ARCHITECTURES

ROOT: Final = Path(__file__).resolve().parents[2]
DOCKERFILE: Final = ROOT / "packaging" / "docker" / "Dockerfile"
RECIPE: Final = ROOT / "packaging" / "bioconda" / "meta.yaml"
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONDA_NAMES: Final = {
    "isal": "python-isal",
    "cupy-cuda12x": "cupy",
    "nvidia-cuda-nvrtc-cu12": "cuda-nvrtc",
    "nvidia-cuda-runtime-cu12": "cuda-cudart-dev",
}
"""Packages of PyPI that have another name in conda-forge."""


def requirements() -> dict[str, str]:
    """Return the version range of each package of conda that `pyproject.toml` asks for."""
    found = {}
    for line in PROJECT["project"]["dependencies"]:
        name, versions = re.fullmatch(r"([\w-]+)([^;]+?)(?:;.*)?", line).groups()
        # The major version of CUDA is in the name of its packages in PyPI.
        of_cuda = f"{versions},<13" if name.endswith("-cu12") else versions
        found[CONDA_NAMES.get(name, name)] = of_cuda
    return found


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    jinja2 = pytest.importorskip("jinja2")
    yaml = pytest.importorskip("yaml")
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=True)
    text = environment.from_string(RECIPE.read_text(encoding="utf-8")).render(
        PYTHON="python", pin_subpackage=lambda name, max_pin: f"{name} {max_pin}"
    )
    return yaml.safe_load(text)


def test_recipe_has_the_version(recipe: dict[str, Any]) -> None:
    assert recipe["package"] == {"name": "hapgpu", "version": hapgpu.__version__}
    assert recipe["source"]["url"].endswith(f"/hapgpu-{hapgpu.__version__}.tar.gz")
    assert re.fullmatch(r"[0-9a-f]{64}", str(recipe["source"]["sha256"]))


def test_recipe_has_the_requirements(recipe: dict[str, Any]) -> None:
    run = dict(line.split(" ", 1) for line in recipe["requirements"]["run"])
    assert run.pop("python") == PROJECT["project"]["requires-python"]
    assert run == requirements()
    host = recipe["requirements"]["host"]
    assert {line.replace(" ", "") for line in host} >= {*PROJECT["build-system"]["requires"]}
    # What the build hook asks for: what the modules of the commands import at the top.
    later = {"cupy", "cuda-nvrtc", "cuda-cudart-dev", "deflate", "tqdm"}
    assert {*host} >= {f"{name} {run[name]}" for name in run.keys() - later}


def test_recipe_has_the_program(recipe: dict[str, Any]) -> None:
    ((program, function),) = PROJECT["project"]["scripts"].items()
    assert recipe["build"]["entry_points"] == [f"{program} = {function}"]
    assert (ROOT / recipe["about"]["license_file"]).is_file()
    assert recipe["about"]["license"] == PROJECT["project"]["license"]


def test_dockerfile_is_valid() -> None:
    if which("hadolint") is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run(["hadolint", DOCKERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_dockerfile_copies_what_the_build_needs() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    allowed = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text(encoding="utf-8")
    copied = {
        name
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE)
        for name in line.split()
    }
    assert all((ROOT / name).exists() for name in copied)
    assert {line[1:] for line in allowed.splitlines() if line.startswith("!")} == copied


def test_dockerfile_compiles_for_every_architecture() -> None:
    named = re.search(r"--arch (\S+)", DOCKERFILE.read_text(encoding="utf-8"))
    assert named is not None
    assert tuple(named[1].split(",")) == ARCHITECTURES
