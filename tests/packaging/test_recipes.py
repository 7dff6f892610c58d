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
    assert {*host} >= {f"{name} {versions}" for name, versions in run.items()}


def test_recipe_makes_machine_code(recipe: dict[str, Any]) -> None:
    make, install = recipe["build"]["script"]
    script, directory = re.search(r"python (packaging/\S+) (\S+)$", make).groups()
    assert (ROOT / script).is_file()
    assert f"HAPGPU_MACHINE_CODE=$PWD/{directory} " in install
    assert "noarch" not in recipe["build"]


def test_recipe_has_the_licence(recipe: dict[str, Any]) -> None:
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


def test_dockerfile_installs_a_wheel_with_machine_code() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    script, directory = re.findall(r"python (packaging/\S+) (\S+)$", text, re.MULTILINE)[0]
    assert (ROOT / script).is_file()
    assert f"HAPGPU_MACHINE_CODE={directory} " in text
    assert "HAPGPU_MACHINE_CODE" in (ROOT / "packaging" / "build_hook.py").read_text()
    assert "NUMBA_CPU_NAME" not in text  # with it, machine code would not be used
