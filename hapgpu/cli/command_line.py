"""The command line: its subcommands, each imported only when it is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Annotated, Final, NoReturn

import typer
from typer.main import get_command

from hapgpu.cli.terminal.messages import faults_explained
from hapgpu.version import __version__

COMMANDS: Final = {
    "realign": "Align reads to haplotypes, exactly as GATK does.",
    "pairhmm": "Compute how likely reads are given haplotypes, by GATK's pair-HMM.",
    "haplotypes": "Make candidate haplotypes from the variants of a VCF.",
    "genotype": "Genotype the sites of a VCF in aligned reads, by the pair-HMM.",
    "index": "Build the index of a reference, for map or for chain.",
    "map": "Find every place where reads fit a reference with at most one error.",
    "chain": "Map long reads by minimizers and chains, exactly as minimap2 does.",
    "bench": "Measure how fast this machine computes.",
    "doctor": "Show what hapgpu finds on this machine, and what is missing.",
}
"""Each subcommand with its line of help.

Subcommand `x` is the function `x` of its module; `FILES` of that module says which files it reads
and writes; the text `EXAMPLES`, in paragraphs, stands at the end of its help.
"""


def run(arguments: Sequence[str]) -> NoReturn:
    """Run a command line and end with its status.

    Parameters
    ----------
    arguments
        Those behind the name of the program.

    Raises
    ------
    SystemExit
        Always.
    """
    program = " ".join(["hapgpu", *(name for name in arguments[:1] if name in COMMANDS)])
    with faults_explained(program, debug="--debug" in arguments):
        # Typer's own `main` gives errors a form and statuses that differ from those of hapgpu.
        command = get_command(build_app(arguments))
        with command.make_context("hapgpu", list(arguments) or ["--help"]) as context:
            command.invoke(context)
    raise SystemExit(0)


def build_app(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line, of which only the subcommand that the arguments name is loaded."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_hapgpu)
    for name, summary in COMMANDS.items():
        if name in arguments[:1]:
            module = command_module(name)
            command = module.FILES.checked_before(getattr(module, name))
            app.command(name, epilog=module.EXAMPLES)(command)
        else:
            app.command(name, help=summary)(_not_chosen)
    return app


def command_module(name: str) -> ModuleType:
    """Return the module of a subcommand."""
    place = "bench.group" if name == "bench" else f"commands.{name}"
    return import_module(f"hapgpu.cli.{place}")


def _not_chosen() -> None:
    """Stand in the list of subcommands."""


def _print_version(value: bool) -> None:  # noqa: FBT001  (Typer passes it by position)
    if value:
        typer.echo(f"hapgpu {__version__}")
        raise typer.Exit


def _hapgpu(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Compute with reads, haplotypes and variants, on the GPU or without one.

    [bold]hapgpu COMMAND --help[/bold] tells more about a command.
    """
