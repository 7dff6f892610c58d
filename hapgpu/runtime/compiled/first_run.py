"""The first run of a command on a kind of device, before which its functions are compiled."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from hapgpu.runtime import cache
from hapgpu.runtime.compiled.ahead import compile_ahead
from hapgpu.runtime.compiled.signatures import read_groups
from hapgpu.runtime.devices import usable_cpus

_STARTED: Final = b"started"
_COMPILED: Final = b"compiled"


class FirstRun:
    """The functions of a run that no run of this machine has compiled yet.

    Parameters
    ----------
    directory
        The directory of compiled functions; None without one.
    command
        The subcommand, such as `realign`.
    kinds
        The kinds of its devices: `cpu`, `cuda`.
    arguments
        Its arguments: some options call functions of their own.
    """

    def __init__(
        self,
        directory: Path | None,
        command: str,
        kinds: Collection[str],
        arguments: Sequence[str],
    ) -> None:
        self._directory = directory
        options = {argument.partition("=")[0] for argument in arguments}
        groups = [_group(command, kind, options) for kind in kinds]
        self._groups = [group for group in groups if group and not self._is_compiled(group)]

    def __bool__(self) -> bool:
        """Tell whether there are functions to compile."""
        return bool(self._groups)

    def compile(self) -> None:
        """Compile the functions side by side; without a cache, leave that to the run."""
        groups = [group for group in self._groups if self._can_store(group)]
        versions = {version: None for group in groups for version in read_groups()[group]}
        if usable_cpus() > 1:
            compile_ahead([*versions], usable_cpus())
        for group in groups:
            cache.store(self._mark(group), group, _COMPILED)

    def _is_compiled(self, group: str) -> bool:
        return cache.load(self._mark(group), group) == _COMPILED

    def _can_store(self, group: str) -> bool:
        cache.store(self._mark(group), group, _STARTED)
        return cache.load(self._mark(group), group) is not None

    def _mark(self, group: str) -> Path | None:
        return self._directory and self._directory / f"{group.replace(' ', '')}.ran"


def _group(command: str, kind: str, options: set[str]) -> str | None:
    """Return the group of a run: the one with the most of its options, if any."""
    best: str | None = None
    for group in sorted(read_groups(), key=len):
        own, its_kind, *needed = group.split()
        if (own, its_kind) == (command, kind) and options.issuperset(needed):
            best = group
    return best
