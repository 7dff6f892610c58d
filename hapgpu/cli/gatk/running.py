"""Messages of a run of `call` for HaplotypeCaller: the names of its arguments, and a note."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from hapgpu.cli.gatk.tool import TOOL
from hapgpu.errors import HapgpuError

_OTHER_PROGRAM: Final = re.compile(r"\brun: (?!hapgpu )", re.IGNORECASE)
_OPTION: Final = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


@contextmanager
def gatk_names(names: Mapping[str, str]) -> Iterator[None]:
    """Name the arguments of HaplotypeCaller in errors, instead of options of `call`.

    Parameters
    ----------
    names
        The argument of each option, as in `Translation`.

    Raises
    ------
    HapgpuError
        As it was raised, with other names.
    """
    try:
        yield
    except HapgpuError as error:
        error.args = (renamed(str(error), names), *error.args[1:])
        raise


def renamed(message: str, names: Mapping[str, str]) -> str:
    """Return a message of `call` in the names of HaplotypeCaller.

    Commands of other programs, such as `run: samtools index`, stay as they are.
    """
    other = _OTHER_PROGRAM.search(message)
    end = other.start() if other else len(message)
    own = _OPTION.sub(lambda found: names.get(found[0], found[0]), message[:end])
    return own.replace("hapgpu call", f"hapgpu {TOOL}") + message[end:]


def note_without_effect(names: Sequence[str], *, quiet: bool) -> None:
    """Say once which arguments have no effect."""
    if names and not quiet:
        sys.stderr.write(f"hapgpu {TOOL}: no effect: {' '.join(names)}\n")
