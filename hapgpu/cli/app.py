"""The command `hapgpu`: its subcommands, each imported only when it is chosen."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Final

import typer

import hapgpu
from hapgpu.cli.messages import guarded

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

Subcommand `x` is the function `x` of the module `hapgpu.cli.x`; the text `EXAMPLES` of that
module, in paragraphs, stands at the end of its help.
"""


_OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000


def main() -> None:
    """Run the command line; never returns."""
    # The compiler's many objects live as long as the process: to look through them again and
    # again while it loads, and once more at the end, would take a third of a second.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)
    arguments = sys.argv[1:]
    program = " ".join(["hapgpu", *(name for name in arguments[:1] if name in COMMANDS)])
    debug = "--debug" in arguments

    def run() -> None:
        build_app(arguments, program, debug=debug)(prog_name="hapgpu")

    guarded(program, run, debug=debug)()


def build_app(arguments: Sequence[str], program: str, *, debug: bool) -> typer.Typer:
    """Return the command line, of which only the subcommand that the arguments name is loaded."""
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_hapgpu)
    for name, summary in COMMANDS.items():
        if name in arguments[:1]:
            module = import_module(f"hapgpu.cli.{name}")
            # Guarded here too: Typer would give some errors of the command a status of its own.
            function = guarded(program, getattr(module, name), debug=debug)
            app.command(name, epilog=module.EXAMPLES)(function)
        else:
            app.command(name, help=summary)(_not_chosen)
    return app


def _not_chosen() -> None:
    """Stand in the list of subcommands."""


def _print_version(value: bool) -> None:  # noqa: FBT001  (Typer passes it by position)
    if value:
        typer.echo(f"hapgpu {hapgpu.__version__}")
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
