"""Kinds of files that a report shows, recognised by their first bytes."""

from __future__ import annotations

import re
from enum import Enum, auto
from pathlib import Path
from typing import Final

from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.file_kind import PAF_LINE, guess_kind
from hapgpu.io.files.reread import is_pipe

_HEAD_BYTES: Final = 1 << 16
_LIKELIHOODS: Final = re.compile(
    rb"read\tmate\t[^\n]|batch\tread\thaplotype\tlog10_likelihood\n|[0-9]+ [0-9]+\n[-0-9.]"
)
_JSON: Final = re.compile(rb"\s*[\[{]")
EXPECTED: Final = "give VCF, BCF, PAF, BAM, SAM, CRAM, likelihoods or --json statistics of hapgpu"


class Kind(Enum):
    """Kinds of files that have a section."""

    VARIANTS = auto()
    MAPPINGS = auto()
    ALIGNMENTS = auto()
    LIKELIHOODS = auto()
    STATISTICS = auto()


_GUESSED: Final = {
    "BAM": Kind.ALIGNMENTS,
    "CRAM": Kind.ALIGNMENTS,
    "SAM": Kind.ALIGNMENTS,
    "VCF": Kind.VARIANTS,
    "BCF": Kind.VARIANTS,
}


def kind_of(path: Path) -> Kind:
    """Recognise the kind of a file.

    An empty file has the kind of its extension: commands write no line if they find nothing.

    Raises
    ------
    InputError
        The file cannot be read, or is of another kind.
    """
    if is_pipe(str(path)):
        raise InputError(f"{path}: cannot be a pipe: files are read twice; give a file")
    with open_inflated(path, str(path)) as stream:
        head = stream.read(_HEAD_BYTES)
    if guessed := guess_kind(head):
        return _GUESSED[guessed]
    patterns = (
        (_LIKELIHOODS, Kind.LIKELIHOODS),
        (PAF_LINE, Kind.MAPPINGS),
        (_JSON, Kind.STATISTICS),
    )
    for pattern, kind in patterns:
        if pattern.match(head):
            return kind
    if not head and ".paf" in path.suffixes:
        return Kind.MAPPINGS
    raise InputError(f"{path}: {'unknown kind of file' if head else 'empty'}; {EXPECTED}")
