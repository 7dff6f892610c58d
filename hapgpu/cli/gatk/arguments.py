"""Arguments of HaplotypeCaller, and what hapgpu does with each."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Effect(StrEnum):
    """What an argument does here."""

    OBEYED = "obeyed"
    DEFAULT = "obeyed at GATK's default only"
    NONE = "accepted without effect"
    REFUSED = "refused"


class Argument(NamedTuple):
    """An argument of HaplotypeCaller, or of its launcher.

    Attributes
    ----------
    names
        Without hyphens, the long name first; GATK takes each after one hyphen or two.
    value
        The placeholder of the value, or the words that are possible: `UNION|INTERSECTION`; empty
        for a flag, which may have `true` or `false` after it.
    effect
        What it does.
    default
        GATK's value without it; empty if there is none.
    option
        The option of `hapgpu call` that it stands for; empty for an argument, or if words of the
        value decide.
    reason
        Why it has no effect, or is refused.
    needs
        Long names of arguments: without one of them, it has no effect.
    is_list
        Whether it may be given several times.
    is_expanded
        Whether a value that ends in `.list` or `.args` is a file with a value per line.
    has_tag
        Whether a name follows the argument's name: `--comp:NAME`.
    """

    names: tuple[str, ...]
    value: str
    effect: Effect
    default: str = ""
    option: str = ""
    reason: str = ""
    needs: tuple[str, ...] = ()
    is_list: bool = False
    is_expanded: bool = True
    has_tag: bool = False

    @property
    def name(self) -> str:
        """The long name, without hyphens."""
        return self.names[0]

    @property
    def choices(self) -> tuple[str, ...]:
        """The values, if they can be listed."""
        values = tuple(self.value.split("|"))
        return values if len(values) > 1 else ()

    @property
    def shown(self) -> str:
        """The names with hyphens: `--input, -I`."""
        return ", ".join(f"{'-' if name != self.name else '--'}{name}" for name in self.names)

    def is_default(self, value: str) -> bool:
        """Tell whether a value is what GATK does without the argument; numbers as numbers."""
        default = self.default or ("" if self.value else "false")
        try:
            return float(value) == float(default)
        except ValueError:
            return value == default != ""


def obeyed(
    names: str,
    value: str,
    option: str,
    default: str = "",
    needs: str = "",
    *,
    is_list: bool = False,
) -> Argument:
    """Declare an argument that an option of `call` obeys; names and needs are words."""
    return Argument(
        tuple(names.split()),
        value,
        Effect.OBEYED,
        default,
        option,
        needs=tuple(needs.split()),
        is_list=is_list,
    )


def fixed(names: str, value: str, default: str, reason: str = "", needs: str = "") -> Argument:
    """Declare an argument of which hapgpu has GATK's default only."""
    return Argument(
        tuple(names.split()),
        value,
        Effect.DEFAULT,
        default,
        reason=reason,
        needs=tuple(needs.split()),
    )


def ignored(names: str, value: str, reason: str, *, is_list: bool = False) -> Argument:
    """Declare an argument that changes no call, neither in GATK nor here."""
    return Argument(
        tuple(names.split()), value, Effect.NONE, reason=reason, is_list=is_list, is_expanded=False
    )


def refused(names: str, value: str, reason: str, *, is_list: bool = False) -> Argument:
    """Declare an argument that would change the output, and is not there; a flag is off."""
    return Argument(
        tuple(names.split()),
        value,
        Effect.REFUSED,
        default="" if value else "false",
        reason=reason,
        is_list=is_list,
        is_expanded=False,
    )
