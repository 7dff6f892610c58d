"""The command line: texts that it asks for, or the command that it names."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final, NoReturn

import typer
from typer.main import get_command

from hapgpu.cli.catalogue import (
    COMMANDS,
    command_function,
    command_module,
    command_words,
    commands_of,
    description_of,
)
from hapgpu.cli.gatk.tool import TOOL, tool_arguments
from hapgpu.cli.help import help_text
from hapgpu.cli.options.argument_order import in_order
from hapgpu.cli.options.effects import refuse_without_effect
from hapgpu.cli.parameters import HELP, VERSION, arguments_of
from hapgpu.cli.terminal.messages import faults_explained, set_up_messages
from hapgpu.cli.terminal.suggestions import advice
from hapgpu.cli.usage import usage_explained
from hapgpu.errors import UsageError
from hapgpu.version import __version__

_OPTIONAL_VALUES: Final = {"chain": {"--cs": "--cs=short"}}
"""By command: options whose value may be left out, and what they stand for then."""


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
    gatk = tool_arguments(arguments)
    command = [TOOL] if gatk is not None else [name for name in arguments[:1] if name in COMMANDS]
    program = " ".join(["hapgpu", *command])
    with faults_explained(program, debug="--debug" in arguments):
        if (text := _text_asked_for(arguments)) is None:
            if gatk is None:
                words = command_words(arguments)
                _run_command(words, arguments[len(words) :])
            else:
                _run_tool(gatk)
        else:
            sys.stdout.write(text)
    raise SystemExit(0)


def _text_asked_for(arguments: Sequence[str]) -> str | None:
    """Return the version or the help that a command line asks for; None if it asks for a run."""
    if arguments[:1] == [*VERSION.names]:
        return f"hapgpu {__version__}\n"
    if (gatk := tool_arguments(arguments)) is not None:
        return _text_of_tool(gatk)
    if arguments[:1] == ["help"]:
        is_tool = tool_arguments(arguments[1:]) is not None
        return _tool_page() if is_tool else help_text(*command_words(arguments[1:]))
    others = [argument for argument in arguments if argument not in HELP.names]
    if not arguments or len(others) < len(arguments):
        return help_text(*command_words(others))
    return None


def _text_of_tool(arguments: Sequence[str]) -> str | None:
    """Return the version or the help that a command line of HaplotypeCaller asks for, or None."""
    asked = {argument for argument in arguments if argument.startswith("-")}
    if asked & {"--version", "-version"}:
        return f"hapgpu {__version__}\n"
    return _tool_page() if asked & {*HELP.names, "-help"} else None


def _tool_page() -> str:
    from hapgpu.cli.gatk.page import page  # noqa: PLC0415  (only for this tool)

    return page(description_of("call"))


def _run_tool(arguments: Sequence[str]) -> None:
    """Run `call` for a command line of HaplotypeCaller; errors have the names of its arguments.

    Raises
    ------
    HapgpuError
        The command line is wrong, or the run fails.
    """
    from hapgpu.cli.gatk.running import gatk_names, note_without_effect  # noqa: PLC0415  (as above)
    from hapgpu.cli.gatk.translation import translate  # noqa: PLC0415  (as above)

    translation = translate(arguments)
    note_without_effect(translation.without_effect, quiet="--quiet" in arguments)
    with gatk_names(translation.names):
        _run_command(["call"], translation.arguments)


def _run_command(words: Sequence[str], arguments: Sequence[str]) -> None:
    """Run the command of these names.

    Raises
    ------
    UsageError
        There are no arguments, but the command needs some; or the words name a group.
    """
    program = " ".join(["hapgpu", *words])
    if commands_of(*words):
        if arguments:
            known = [*HELP.names, *([] if words else VERSION.names)]
            raise UsageError(
                f"{arguments[0]}: no such option{advice(arguments[0], known, program)}"
            )
        raise UsageError(f"no command; usage: {program} COMMAND [OPTIONS]")
    command = built_command(*words)
    if not arguments and (description := description_of(*words)).arguments:
        raise UsageError(f"no arguments; usage: {description.usage}")
    complete = _with_values(words[0], arguments)
    with usage_explained(words, complete):
        context = command.make_context(program, [*complete])
    with context:
        command.invoke(context)


def _with_values(command: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the values that were left out: Typer's options always have one."""
    values = _OPTIONAL_VALUES.get(command, {})
    return [values.get(argument, argument) for argument in arguments]


def built_command(*words: str) -> Any:
    """Return a command as Typer makes it; its help is that of `hapgpu.cli.help`."""
    app = typer.Typer(add_completion=False, context_settings={"help_option_names": []})
    app.command(words[-1])(_prepared(*words))
    return get_command(app)


def _prepared(*words: str) -> Callable[..., None]:
    """Return the function of a command; it sets up messages, checks options and files first."""
    module, function = command_module(*words), command_function(*words)

    @wraps(function)
    def prepared(context: typer.Context, **values: Any) -> None:
        shown = {option: values.get(option, False) for option in ("quiet", "verbose", "debug")}
        set_up_messages(words[0], **shown)
        refuse_without_effect(context, getattr(module, "NO_EFFECT", ()), values)
        ordered = in_order(module.FILES, values, [*arguments_of(function)])
        module.FILES.check_inputs(ordered)
        module.FILES.check_outputs(ordered)
        function(**ordered)

    vars(prepared)["__signature__"] = _with_context(inspect.signature(function))
    return prepared


def _with_context(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature with the parameter `context`, first."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    context = inspect.Parameter("context", kind, annotation=typer.Context)
    return signature.replace(parameters=[context, *signature.parameters.values()])
