"""`hapgpu completion`: the script by which a shell completes command lines of hapgpu."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Final

import typer

from hapgpu.cli.catalogue import description_of
from hapgpu.cli.completion import bash_script, fish_script, zsh_script
from hapgpu.cli.gatk.page import described_tool
from hapgpu.cli.options.common import Debug
from hapgpu.cli.options.files import CommandFiles

EXAMPLES: Final = """Complete commands in this shell, bash:
source <(hapgpu completion bash)

Complete them in every shell from now on, for bash, zsh and fish:
hapgpu completion bash > ~/.local/share/bash-completion/completions/hapgpu
hapgpu completion zsh > ~/.zfunc/_hapgpu
hapgpu completion fish > ~/.config/fish/completions/hapgpu.fish

For zsh, ~/.zshrc has this line before compinit:
fpath+=~/.zfunc"""

FILES: Final = CommandFiles()


class Shell(StrEnum):
    """Shells with completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


_SCRIPTS: Final = {Shell.BASH: bash_script, Shell.ZSH: zsh_script, Shell.FISH: fish_script}


def completion(
    *,
    shell: Annotated[Shell, typer.Argument(help="The shell: bash, zsh or fish.")],
    debug: Debug = False,  # noqa: ARG001  (the command line reads it)
) -> None:
    """Write the script that completes commands and options of hapgpu in a shell.

    The shell then completes without starting hapgpu. Write the script again after an update.
    """
    root = description_of()
    tool = described_tool(description_of("call"))
    sys.stdout.write(_SCRIPTS[shell](replace(root, commands=(*root.commands, tool))))
