"""`hapgpu completion`, in the shells themselves."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from shutil import which
from typing import Final

import pytest

from hapgpu.cli.catalogue import COMMANDS
from hapgpu.cli.gatk.tool import TOOL

_BASH: Final = """\
source "$1"
complete -p hapgpu > /dev/null || exit
read -r -a COMP_WORDS <<< "$2"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_hapgpu
printf '%s\\n' "${COMPREPLY[@]}"
"""
_FISH: Final = 'source $argv[1]; complete -C "$argv[2]"'
# An interactive zsh, in which `hapgpu` prints its words: what Tab has made of the line.
_ZSH: Final = """\
zmodload zsh/zpty
zpty shell 'zsh -f -i'
setup="PS1=; PROMPT_SP=; autoload -Uz compinit; compinit -u -D; source ${(q)1}"
zpty -w shell "$setup; function hapgpu() { print -r -- \\"<\\$*>\\" }; echo READY"
zpty -r shell text '*READY*READY*'
zpty -w shell "$2"$'\\t'
zpty -r shell text '*<*>*'
print -r -- "${${text##*<}%%>*}"
"""


@cache
def script_for(shell: str) -> str:
    code = "from hapgpu.cli.app import main; main()"
    command = [sys.executable, "-c", code, "completion", shell]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def completer(shell: str, start: list[str], directory: Path) -> Callable[[str], list[str]]:
    """Return a function that completes a line in a shell, and returns the words that it offers."""
    if which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = directory / "script"
    path.write_text(script_for(shell), encoding="utf-8")

    def complete(line: str) -> list[str]:
        done = subprocess.run(
            [*start, str(path), line],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            cwd=directory,
        )
        assert not done.stderr
        return [word.partition("\t")[0] for word in done.stdout.splitlines() if word]

    return complete


def test_bash(tmp_path: Path) -> None:
    complete = completer("bash", ["bash", "-c", _BASH, "bash"], tmp_path)
    assert complete("hapgpu rea") == ["realign"]
    assert {*complete("hapgpu ")} == {*COMMANDS, TOOL}
    assert complete("hapgpu genotype --pri") == ["--prior"]
    assert complete("hapgpu genotype --prior ") == ["flat", "population"]
    assert complete("hapgpu map -O = ") == ["sam", "bam", "cram"]  # bash splits at =
    assert complete("hapgpu bench ma") == ["map"]
    assert complete("hapgpu bench map --dev") == ["--device"]
    assert complete("hapgpu HaplotypeCaller --native-pair-hmm-t") == ["--native-pair-hmm-threads"]
    assert not complete("hapgpu genotype ")  # bash completes names of files
    assert not complete("hapgpu genotype -o ")


def test_fish(tmp_path: Path) -> None:
    complete = completer("fish", ["fish", "--no-config", "-c", _FISH], tmp_path)
    assert complete("hapgpu rea") == ["realign"]
    assert {*complete("hapgpu ")} == {*COMMANDS, TOOL}
    assert complete("hapgpu genotype --pri") == ["--prior"]
    assert complete("hapgpu genotype --prior ") == ["flat", "population"]
    assert complete("hapgpu bench ma") == ["map"]
    assert complete("hapgpu bench map --dev") == ["--device"]
    assert complete("hapgpu genotype ") == ["script"]  # the only file


def test_zsh(tmp_path: Path) -> None:
    complete = completer("zsh", ["zsh", "-f", "-c", _ZSH, "zsh"], tmp_path)
    assert complete("hapgpu genot") == ["genotype"]
    assert complete("hapgpu genotype --prior po") == ["genotype --prior population"]
    assert complete("hapgpu bench ma") == ["bench map"]
    assert complete("hapgpu genotype scr") == ["genotype script"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_valid(shell: str, tmp_path: Path) -> None:
    if which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(script_for(shell), encoding="utf-8")
    subprocess.run([shell, "-n", str(path)], check=True)


def test_every_option_is_in_the_scripts() -> None:
    code = "from hapgpu.cli.app import main; main()"
    shown = subprocess.run(
        [sys.executable, "-c", code, "chain", "--help"], capture_output=True, text=True, check=True
    )
    options = {*re.findall(r"(?<![\w-])--[a-z][\w-]+", shown.stdout)}
    script = script_for("bash")
    assert len(options) > 20
    assert all(option in script for option in options)


def test_unknown_shell() -> None:
    code = "from hapgpu.cli.app import main; main()"
    command = [sys.executable, "-c", code, "completion", "tcsh"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "hapgpu completion: error: 'tcsh': must be one of bash, zsh, fish; "
        "run: hapgpu completion --help\n"
    )


def test_full_disk() -> None:
    code = "from hapgpu.cli.app import main; main()"
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-c", code, "completion", "bash"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    assert "No space left" in done.stderr
