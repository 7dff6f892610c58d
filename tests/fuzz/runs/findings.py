"""Inputs with faults, kept so that they can be replayed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

from tests.fuzz.runs.execution import Fault

_MAX_KEPT: Final = 3
_NAME: Final = re.compile(r"(?P<target>[a-z-]+)-(?P<seed>[0-9]+)\.input")


class Findings:
    """Inputs that were found, in a directory: a few of each kind.

    Parameters
    ----------
    directory
        Made with the first of them.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._kinds = Counter(_kind_of(path) for path in directory.glob("*.txt"))

    def add(self, target: str, seed: int, data: bytes, fault: Fault) -> None:
        """Keep an input and its fault, as `TARGET-SEED.input` and `.txt`."""
        self._kinds[target, fault.kind] += 1
        if self._kinds[target, fault.kind] > _MAX_KEPT:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{target}-{seed}.input"
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(f"{fault.kind}\n{fault.text}\n", errors="replace")


def _kind_of(path: Path) -> tuple[str, str]:
    """Return the target and the kind of a finding, by its text."""
    return target_of(path.with_suffix(".input")), path.read_text().partition("\n")[0]


def target_of(path: Path) -> str:
    """Return the target of a kept input.

    Raises
    ------
    ValueError
        The name contains no target.
    """
    found = _NAME.fullmatch(path.name)
    if found is None:
        message = f"{path}: expected a file named TARGET-SEED.input"
        raise ValueError(message)
    return found["target"]


def summary(directory: Path) -> list[str]:
    """Return the text of the first finding of each kind, target by target."""
    firsts: dict[tuple[str, str], Path] = {}
    for path in sorted(directory.glob("*.txt")):
        firsts.setdefault(_kind_of(path), path)
    return [f"{path.with_suffix('.input')}: {path.read_text()}" for path in firsts.values()]
