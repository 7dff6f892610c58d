"""Error output of samtools."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

_ORIGIN = re.compile(r"\[[EW]::\w+\] |\[main_samview\] |samtools view: ")
_LINE: Final = re.compile(r"Parse error at line (\d+)")
_GENERAL: Final = re.compile(r"error (reading|closing) file|error closing|fail to read the header")
"""Lines that say only that samtools failed on the name that it was given."""
_NO_MEMORY: Final = re.compile(r"Cannot allocate memory|error closing .*: -12$")
_WARNING: Final = "[W::"


@dataclass(frozen=True, slots=True)
class SamtoolsFailure:
    """Error output of a samtools that failed, at least one line."""

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return _join(self.lines)

    @property
    def reason(self) -> str:
        """Reason of the failure; empty if the output gives none."""
        return _join(
            line for line in self.lines if not (line.startswith(_WARNING) or _GENERAL.search(line))
        )

    @property
    def is_out_of_memory(self) -> bool:
        """Whether samtools ran out of memory."""
        return any(_NO_MEMORY.search(line) for line in self.lines)

    @property
    def line(self) -> int | None:
        """Line of SAM at which samtools failed; known only if it ran on one thread."""
        found = _LINE.search("\n".join(self.lines))
        return int(found[1]) if found else None


def _join(lines: Iterable[str]) -> str:
    return "; ".join(islice((_ORIGIN.sub("", line).strip() for line in lines), 2))
