"""Command lines of GATK 4, as Barclay parses them: words in, arguments with their values out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hapgpu.cli.gatk.arguments import Argument
from hapgpu.cli.gatk.names import fault_of_name
from hapgpu.cli.gatk.table import ARGUMENTS, OWN_OPTIONS
from hapgpu.cli.gatk.tool import TOOL
from hapgpu.errors import InputError, UsageError

_TRUE: Final = ("true", "t")
_FALSE: Final = ("false", "f")
_EXPANDED: Final = (".list", ".args")
_FILE_ARGUMENT: Final = "arguments_file"
_MAX_BYTES: Final = 1 << 24


class Given(NamedTuple):
    """An argument of a command line.

    Attributes
    ----------
    argument
        Which one.
    written
        Its name as the command line has it: `-I`.
    value
        Its value; of a flag, `true` or `false`.
    tag
        The name after a colon, `--comp:NAME`; empty without.
    """

    argument: Argument
    written: str
    value: str
    tag: str = ""


def parse(words: Sequence[str]) -> list[Given]:
    """Parse a command line, files of arguments and of values included, in its order.

    Words of `--arguments_file` come before the command line, as in GATK.

    Raises
    ------
    UsageError
        An argument is unknown, lacks its value, or is given twice but is no list.
    InputError
        A file of arguments or values cannot be read.
    """
    read: set[str] = set()
    while True:
        given = list(_arguments_in(words))
        files = [one.value for one in given if one.argument.name == _FILE_ARGUMENT]
        if not (new := [file for file in dict.fromkeys(files) if file not in read]):
            break
        read.update(new)
        words = [*(word for file in new for line in _lines(file) for word in line.split()), *words]
    found = [one for one in given if one.argument.name != _FILE_ARGUMENT]
    _refuse_repeated(found)
    return [value for one in found for value in _with_values(one)]


def _arguments_in(words: Sequence[str]) -> Iterator[Given]:
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        written, has_value, value = word.partition("=")
        written, has_tag, tag = written.partition(":")
        argument = _argument(written)
        if argument is None:
            raise UsageError(_fault(word, written))
        if bool(has_tag) != argument.has_tag or (has_tag and not tag.isidentifier()):
            raise UsageError(_fault_of_tag(argument, word))
        if not has_value:
            value = _value(argument, rest, written)
        elif not argument.value:
            value = _switch(value, word)
        yield Given(argument, written, value, tag)


def _argument(written: str) -> Argument | None:
    """Return the argument of a name with hyphens; `--debug` is hapgpu's, `-debug` GATK's."""
    name = written.removeprefix("-").removeprefix("-")
    if written == name:
        return None
    own = OWN_OPTIONS.get(name) if written.startswith("--") else None
    return own or ARGUMENTS.get(name)


def _fault(word: str, written: str) -> str:
    if not word.startswith("-") or word in {"-", "--"}:
        return f"{word}: not expected; every argument has a name, run: hapgpu {TOOL} --help"
    return fault_of_name(written)


def _fault_of_tag(argument: Argument, word: str) -> str:
    if argument.has_tag:
        return f"{word}: needs one name; write --comp:NAME FILE"
    return f"{word}: has no name after a colon; write {word.partition(':')[0]}"


def _value(argument: Argument, rest: list[str], written: str) -> str:
    """Take the value of an argument from the remaining words, the next of which is last."""
    if argument.value:
        if not rest or _argument(rest[-1].partition("=")[0]) is not None:
            raise UsageError(f"{written}: needs a value; run: hapgpu {TOOL} --help")
        return rest.pop()
    if rest and rest[-1].lower() in {*_TRUE, *_FALSE}:
        return _switch(rest.pop(), written)
    return "true"


def _switch(value: str, word: str) -> str:
    if value.lower() not in {*_TRUE, *_FALSE}:
        raise UsageError(f"{word}: is a flag; give true, false, or no value")
    return "true" if value.lower() in _TRUE else "false"


def _refuse_repeated(given: Sequence[Given]) -> None:
    seen: dict[str, str] = {}
    for one in given:
        name = one.argument.name
        if name in seen and not one.argument.is_list:
            first = seen[name]
            both = one.written if first == one.written else f"{first} and {one.written}"
            raise UsageError(f"{both}: given twice; drop one")
        seen[name] = one.written


def _with_values(given: Given) -> Iterator[Given]:
    """Yield an argument with its value, or with each value that a file holds."""
    argument = given.argument
    if argument.is_list and argument.is_expanded and given.value.endswith(_EXPANDED):
        values = _lines(given.value)
        if not values:
            raise InputError(f"{given.value}: no value in the file; give {given.written} a value")
        yield from (given._replace(value=value) for value in values)
    else:
        yield given


def _lines(path: str) -> list[str]:
    """Return the lines of a file of arguments or values, without comments and empty lines.

    Raises
    ------
    InputError
        The file cannot be read, is too large, or is not text.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > _MAX_BYTES or b"\0" in data:
        raise InputError(f"{path}: not a list of arguments; give a text file with one per line")
    lines = (line.strip() for line in data.decode(errors="surrogateescape").splitlines())
    return [line for line in lines if line and not line.startswith("#")]
