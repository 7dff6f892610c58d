"""The command line: its subcommands, of which only the chosen one is imported."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.main import get_command

from hapgpu.cli.options.effects import refuse_without_effect
from hapgpu.cli.parameters import arguments_of, one_parameter_per_option
from hapgpu.cli.terminal.messages import faults_explained, set_up_messages
from hapgpu.errors import UsageError
from hapgpu.version import __version__

COMMANDS: Final = {
    "realign": "Align reads to haplotypes, exactly as GATK does.",
    "pairhmm": "Compute the likelihoods of reads given haplotypes, by GATK's pair-HMM.",
    "haplotypes": "Write the candidate haplotypes of a VCF.",
    "call": "Find and genotype variants, by GATK HaplotypeCaller's algorithm.",
    "genotype": "Genotype the sites of a VCF in aligned reads, by the pair-HMM.",
    "index": "Build the index of a reference, for map or chain.",
    "map": "Find all hits of short reads with at most one error.",
    "chain": "Map long reads, and align their bases, exactly as minimap2 does.",
    "report": "Show results as one HTML page: sites with their reads, charts of mappings.",
    "bench": "Measure the speed of this machine.",
    "doctor": "Show what hapgpu finds on this machine, and what is missing.",
    "completion": "Write the script that completes commands in a shell.",
}
"""Each subcommand with its line of help.

Subcommand `x` is the function `x` of its module. `FILES` of the module declares the files that it
reads and writes, `NO_EFFECT`, which may be missing, the options without an effect in some runs; the
text `EXAMPLES`, in paragraphs, is the end of its help. The subcommands of `bench` are `METHODS`.
"""

METHODS: Final = {
    "realign": "Measure the alignment of reads to haplotypes.",
    "pairhmm": "Measure the pair-HMM.",
    "genotype": "Measure genotyping, from BAM to VCF, on a simulated sample.",
    "call": "Measure variant calling, from BAM to VCF, on a simulated sample.",
    "map": "Measure the mapping of short reads.",
    "chain": "Measure the mapping of long reads, and their alignment on the CPU.",
    "io": "Measure reading and writing of BAM.",
}
"""Each subcommand of `bench` with its line of help; its module is as that of a subcommand."""

_OPTIONAL_VALUES: Final = {"chain": {"--cs": "--cs=short"}}
"""By command: options whose value may be left out, and what they stand for then."""

_DESCRIBE_ALL: Final = ["completion"]
"""The start of a command line for which the options of all subcommands are needed."""


def run(arguments: Sequence[str]) -> NoReturn:
    """Run a command line and exit with its status.

    Parameters
    ----------
    arguments
        The arguments after the name of the program.

    Raises
    ------
    SystemExit
        Always.
    """
    program = " ".join(["hapgpu", *(name for name in arguments[:1] if name in COMMANDS)])
    with faults_explained(program, debug="--debug" in arguments):
        # Typer's own `main` reports errors in another form and with other statuses.
        command = get_command(build_app(None if arguments[:1] == _DESCRIBE_ALL else arguments))
        complete = _with_values(arguments)
        with (
            _missing_arguments_named(complete),
            command.make_context("hapgpu", complete or ["--help"]) as context,
        ):
            command.invoke(context)
    raise SystemExit(0)


@contextmanager
def _missing_arguments_named(words: Sequence[str]) -> Iterator[None]:
    """Name the argument that is missing by the kinds of the others: Typer gives out the last first.

    Parameters
    ----------
    words
        The command line after the name of the program.

    Raises
    ------
    UsageError
        An argument is missing; the message shows all.
    """
    try:
        yield
    except typer.BadParameter as error:
        fault: Any = error
        is_missing = getattr(fault.param, "param_type_name", "") == "argument"
        if not is_missing or not hasattr(fault, "param_type") or words[0] not in COMMANDS:
            raise
        module = command_module(words[0])
        names = arguments_of(one_parameter_per_option(getattr(module, words[0])))
        values, _, _ = fault.ctx.command.make_parser(fault.ctx).parse_args([*words[1:]])
        missing = module.FILES.missing_argument(values, names) or fault.param.name
        usage = " ".join(["hapgpu", words[0], *names.values()])
        raise UsageError(f"Missing argument '{names[missing]}'; run: {usage}") from None


def _with_values(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the values that were left out: Typer's options always have one."""
    values = _OPTIONAL_VALUES.get(arguments[0], {}) if arguments else {}
    return [values.get(argument, argument) for argument in arguments]


def build_app(arguments: Sequence[str] | None) -> typer.Typer:
    """Return the command line; only the subcommand that the arguments name is imported.

    Without arguments, None, all subcommands are imported.
    """
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_hapgpu)
    _add_commands(app, COMMANDS, arguments)
    return app


def _add_commands(
    app: typer.Typer, summaries: Mapping[str, str], arguments: Sequence[str] | None, *group: str
) -> None:
    """Add the subcommands of a group; the first argument names the one to import."""
    for name, summary in summaries.items():
        if arguments is not None and name not in arguments[:1]:
            app.command(name, help=summary)(_not_chosen)
        elif (*group, name) == ("bench",):
            methods = typer.Typer(help=summary)
            _add_commands(methods, METHODS, arguments and arguments[1:], name)
            app.add_typer(methods, name=name)
        else:
            module = command_module(*group, name)
            prepared = _prepared(module, *group, name)
            app.command(name, short_help=summary, epilog=module.EXAMPLES)(prepared)


def command_module(*names: str) -> ModuleType:
    """Return the module of a subcommand: of `map`, or of `bench` and `map`."""
    *group, name = names
    return import_module(".".join(["hapgpu.cli", *(group or ["commands"]), name]))


def _prepared(module: ModuleType, *names: str) -> Callable[..., None]:
    """Return the function of a subcommand; it sets up messages, checks options and files first."""
    function = one_parameter_per_option(getattr(module, names[-1]))
    signature = inspect.signature(function)

    @wraps(function)
    def prepared(context: typer.Context, **values: Any) -> None:
        shown = {option: values.get(option, False) for option in ("quiet", "verbose", "debug")}
        set_up_messages(names[0], **shown)
        refuse_without_effect(context, getattr(module, "NO_EFFECT", ()), values)
        module.FILES.check(values)
        module.FILES.check_kinds(
            values, " ".join(["hapgpu", *names]), lambda: arguments_of(function)
        )
        function(**values, **({"context": context} if "context" in signature.parameters else {}))

    vars(prepared)["__signature__"] = _with_context(signature)
    return prepared


def _with_context(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature with the parameter `context`, first."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    context = inspect.Parameter("context", kind, annotation=typer.Context)
    others = [each for name, each in signature.parameters.items() if name != "context"]
    return signature.replace(parameters=[context, *others])


def _not_chosen() -> None:
    """Do nothing: a subcommand that is only listed in the help."""


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
    """Realign, genotype and map reads on NVIDIA GPUs or the CPU.

    [bold]hapgpu COMMAND --help[/bold] lists the options of a command.
    """
