"""What samtools says when it fails."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

_ORIGIN = re.compile(r"\[[EW]::\w+\] |\[main_samview\] |samtools view: ")
_LINE: Final = re.compile(r"Parse error at line (\d+)")
_OF_FILES: Final = re.compile(r"error (reading|closing) file|error closing|fail to read the header")
"""Says no more than that samtools failed, with the name that it was given."""
_NO_MEMORY: Final = re.compile(r"Cannot allocate memory|error closing .*: -12$")
_WARNING: Final = "[W::"


@dataclass(frozen=True, slots=True)
class SamtoolsFailure:
    """What a samtools that failed has said, at least a line."""

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return _joined(self.lines)

    @property
    def reason(self) -> str:
        """Why an input cannot be read; empty if all lines just say that it cannot."""
        return _joined(
            line for line in self.lines if not (line.startswith(_WARNING) or _OF_FILES.search(line))
        )

    @property
    def is_of_memory(self) -> bool:
        """Whether samtools had too little memory."""
        return any(_NO_MEMORY.search(line) for line in self.lines)

    @property
    def line(self) -> int | None:
        """The line of SAM at which it failed; only one thread alone counts lines."""
        found = _LINE.search("\n".join(self.lines))
        return int(found[1]) if found else None


def _joined(lines: Iterable[str]) -> str:
    return "; ".join(islice((_ORIGIN.sub("", line).strip() for line in lines), 2))
