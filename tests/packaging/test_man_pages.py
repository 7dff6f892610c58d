"""The man pages: one for each command, in a wheel, and valid for the programs that show them."""

from __future__ import annotations

import runpy
import subprocess
from pathlib import Path
from shutil import which
from typing import Any, Final

import pytest

from hapgpu.cli.catalogue import COMMANDS, METHODS

ROOT: Final = Path(__file__).resolve().parents[2]
MAN: Final = ROOT / "packaging" / "man"
CHECKS: Final = {
    "groff": ["groff", "-ww", "-man", "-Tutf8", "-z"],
    "mandoc": ["mandoc", "-Tlint", "-Wwarning"],
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the files of the pages."""
    directory = tmp_path_factory.mktemp("man1")
    for name, text in runpy.run_path(str(MAN / "make_pages.py"))["pages"]().items():
        (directory / name).write_text(text, encoding="utf-8")
    return sorted(directory.iterdir())


def test_each_command_has_a_page(pages: list[Path]) -> None:
    commands = [*COMMANDS, *(f"bench-{name}" for name in METHODS)]
    expected = {"hapgpu.1", *(f"hapgpu-{name}.1" for name in commands)}
    assert {page.name for page in pages} == expected
    realign = next(page.read_text() for page in pages if page.name == "hapgpu-realign.1")
    assert ".SH SYNOPSIS\n.B hapgpu realign\n" in realign
    assert "\\-\\-best\\-by" in realign


@pytest.mark.parametrize("program", CHECKS)
def test_pages_are_valid(program: str, pages: list[Path]) -> None:
    if which(program) is None:
        pytest.skip(f"{program} is not installed")
    for page in pages:
        done = subprocess.run([*CHECKS[program], page], capture_output=True, text=True, check=False)
        assert not done.stdout + done.stderr, page.name


@pytest.fixture
def hook(tmp_path: Path) -> Any:
    """Return the build hook, as hatchling makes it."""
    wheel = pytest.importorskip("hatchling.builders.wheel")
    builder = wheel.WheelBuilder(str(ROOT))
    kind = runpy.run_path(str(MAN.parent / "build_hook.py"))["WheelParts"]
    return kind(str(ROOT), {}, builder.config, builder.metadata, str(tmp_path), "wheel")


def test_a_wheel_gets_the_pages(hook: Any, pages: list[Path]) -> None:
    data: dict[str, Any] = {"shared_data": {}}
    hook.initialize("standard", data)
    ((directory, target),) = data["shared_data"].items()
    assert target == "share/man/man1"
    assert {path.name: path.read_bytes() for path in Path(directory).iterdir()} == {
        page.name: page.read_bytes() for page in pages
    }
    hook.finalize("standard", data, "")
    assert not Path(directory).exists()


def test_a_wheel_gets_machine_code_that_is_named(
    hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data: dict[str, Any] = {"shared_data": {}, "force_include": {}}
    monkeypatch.setenv("HAPGPU_MACHINE_CODE", str(tmp_path))
    hook.initialize("standard", data)
    hook.finalize("standard", data, "")
    assert data["force_include"] == {str(tmp_path): "hapgpu/machine_code"}
    assert (data["pure_python"], data["tag"]) == (False, "py3-none-manylinux_2_28_x86_64")


def test_an_editable_install_makes_no_pages(hook: Any) -> None:
    data: dict[str, Any] = {"shared_data": {}}
    hook.initialize("editable", data)
    hook.finalize("editable", data, "")
    assert data == {"shared_data": {}}


def test_a_build_needs_no_gpu_package(hook: Any) -> None:
    needed = " ".join(hook.dependencies())
    assert needed.startswith("typer")
    assert "cu12" not in needed
    assert "cuda12" not in needed
