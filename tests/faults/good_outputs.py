"""Outputs of the commands on inputs that are not damaged, to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.faults.commands import Command
from tests.faults.signals import whole_outputs


class GoodOutputs:
    """Runs each command once, when its outputs are needed first.

    Parameters
    ----------
    directory
        Directory of the inputs. A test changes it only after it has asked for outputs. They are
        made here, as CRAM contains the path of its reference.
    options
        Further words of the command lines. Headers hold them, which moves offsets in indexes.
    """

    def __init__(self, directory: Path, options: Sequence[str] = ()) -> None:
        self._directory = directory
        self._options = options
        self._found: dict[str, Mapping[str, bytes]] = {}

    def files(self, command: Command) -> Mapping[str, bytes]:
        """Return what a command writes, by name, without what differs from run to run."""
        if command.name not in self._found:
            self._found[command.name] = whole_outputs(command, self._directory, self._options)
        return self._found[command.name]

    def main(self, command: Command) -> bytes:
        """Return the output that the command line names."""
        return self.files(command)[command.output]
