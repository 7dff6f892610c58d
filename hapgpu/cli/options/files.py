"""Declarations of the files that a command reads and writes, and their checks before the run.

Inputs are there, of a kind that the command reads, and have the index that it needs.

No input is overwritten, under its own name or through a link. Inputs include the indexes that are
read with them; outputs include the indexes that are written with them. Files are compared by
device and inode, not by name; so are standard streams that are files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any, Final, TypeAlias

from hapgpu.cli.options.file_kinds import (
    ALIGNMENTS,
    ANY_FORMAT,
    Expected,
    Formats,
    check_name,
    check_region_options,
    missing_argument,
)
from hapgpu.cli.options.input_checks import BuiltIndex, check_input
from hapgpu.errors import OutputError, UsageError

STANDARD: Final = "-"
ALIGNMENT_INDEXES: Final = (".bai", ".csi", ".crai")
FASTA_INDEXES: Final = (".fai", ".gzi")
VARIANT_INDEXES: Final = (".tbi", ".csi")

Values: TypeAlias = Mapping[str, Any]
_Identity: TypeAlias = tuple[int, int] | str
_Owner: TypeAlias = tuple[str, str]  # kind and name


@dataclass(frozen=True, slots=True)
class Read:
    """A parameter that names files to be read.

    Attributes
    ----------
    parameter
        Name of the parameter; its value is a path, several paths, or None.
    indexes
        Suffixes, with or without wildcards, of files that are read with each, if they exist;
        `x.bai` and `x.bam.bai` both belong to `x.bam`.
    standard
        Whether `-` is standard input.
    expected
        The kinds that the files may have, or a function that returns them; None for any.
    by_index
        Returns whether files of a kind that has an index are read through it.
    built_index
        Returns the index of hapgpu that is read instead of a FASTA file, if it exists.
    is_path
        Tells whether a value names a file; others are no files.
    """

    parameter: str
    indexes: tuple[str, ...] = ()
    standard: bool = False
    expected: Expected | Callable[[Values], Expected] | None = None
    by_index: Callable[[Values], bool] = lambda _: False
    built_index: Callable[[Values], BuiltIndex] | None = None
    is_path: Callable[[str], bool] = lambda _: True

    def kinds(self, values: Values) -> Expected | None:
        """Return the kinds that the files may have."""
        return self.expected(values) if callable(self.expected) else self.expected

    def paths(self, values: Values) -> list[str]:
        """Return the files that are given on the command line."""
        value = values.get(self.parameter)
        if value is None:
            return []
        given = map(str, value if isinstance(value, list | tuple) else [value])
        return [path for path in given if self.is_path(path)]

    def with_indexes(self, path: str) -> Iterator[str]:
        """Yield a file, its existing indexes, and for CRAM the references that it names."""
        yield path
        file = Path(path)
        for stem in (file.name, file.stem):
            for suffix in self.indexes:
                yield from map(str, file.parent.glob(escape(stem) + suffix))
        if self.indexes == ALIGNMENT_INDEXES and file.is_file():
            from hapgpu.io.alignments.formats import named_references  # noqa: PLC0415  (imports pysam)

            for reference in named_references(file):
                yield from (reference, *(f"{reference}{suffix}" for suffix in FASTA_INDEXES))


@dataclass(frozen=True, slots=True)
class Written:
    """A parameter that names a file to be written.

    Attributes
    ----------
    parameter
        Name of the parameter; its value is a path or None.
    beside
        Suffixes of files that may be written or removed with it.
    default
        Returns the path if the parameter is None, or None: then nothing is written.
    formats
        The formats that the file may have, or a function that returns them: its name must not be
        one of another format.
    """

    parameter: str
    beside: tuple[str, ...] = ()
    default: Callable[[Values], str | Path | None] = lambda _: None
    formats: Formats | Callable[[Values], Formats] = ANY_FORMAT

    def path(self, values: Values) -> str | None:
        """Return the file that is written, `-` for standard output, or None."""
        value = values.get(self.parameter)
        path = self.default(values) if value is None else value
        return None if path is None else str(path)

    def check_name(self, values: Values) -> None:
        """Refuse a name of another format; one that is not given is not checked.

        Raises
        ------
        UsageError
            See `check_name`.
        """
        given = values.get(self.parameter)
        if given is not None and str(given) != STANDARD:
            formats = self.formats if isinstance(self.formats, tuple) else self.formats(values)
            check_name(str(given), formats)


def in_all_runs(_values: Values) -> bool:
    """Return True: for `Read.by_index`."""
    return True


def standard_output(_values: Values) -> str:
    """Return `-`: the output goes to standard output if no file is given."""
    return STANDARD


def alignment_formats(values: Values) -> Formats:
    """Return the format of aligned reads that an option names, or those that a name may choose."""
    named = values.get("output_fmt") or ("bam" if values.get("uncompressed") else None)
    return (named.upper(),) if named else ALIGNMENTS


def output_of(formats: Formats | Callable[[Values], Formats]) -> Written:
    """Return the declaration of `--output`, without files beside it."""
    return Written("output", default=standard_output, formats=formats)


STATISTICS: Final = Written("json", formats=("JSON",))


@dataclass(frozen=True, slots=True)
class CommandFiles:
    """The files of a command."""

    reads: tuple[Read, ...] = ()
    writes: tuple[Written, ...] = ()

    def check_outputs(self, values: Values) -> None:
        """Refuse files that must not be written, before the run starts.

        Parameters
        ----------
        values
            The parameters of the command, by name.

        Raises
        ------
        UsageError
            An output is an input, two outputs are one file, or the name of an output is one of
            another format.
        OutputError
            An output is a directory, or its directory does not exist.
        """
        taken = dict(self._inputs(values))
        for written in self.writes:
            path = written.path(values)
            if path is not None:
                _check_directory(path)
                for suffix in ("", *(written.beside if path != STANDARD else ())):
                    _claim(f"{path}{suffix}", taken)
        for written in self.writes:
            written.check_name(values)

    def check_inputs(self, values: Values) -> None:
        """Refuse inputs that are missing, of another kind than expected, or without their index.

        Parameters
        ----------
        values
            The parameters of the command, by name.

        Raises
        ------
        UsageError
            A region is given for a BED file, or the other way round; or an input cannot be standard
            input.
        InputError
            See `check_input`.
        """
        check_region_options(values)
        self._check_standard_input(values)
        for read in self.reads:
            for path in read.paths(values):
                if path != STANDARD:
                    check_input(path, read.kinds(values), by_index=read.by_index(values))
            if read.built_index and read.paths(values):
                read.built_index(values).check()

    def missing_argument(self, values: Values, names: Iterable[str]) -> str | None:
        """Return the argument that is missing, by the kinds of the files that are given.

        Parameters
        ----------
        values
            The arguments as they were assigned from the last to the first.
        names
            The parameters that are arguments, in order.

        Returns
        -------
        str | None
            The first that no file fits; None if a file is of unknown kind.
        """
        kinds = {read.parameter: read.kinds(values) for read in self.reads}
        expected = {name: kind for name, kind in kinds.items() if kind}
        given = [path for read in self.reads for path in read.paths(values) if path]
        return missing_argument({n: expected[n] for n in names if n in expected}, given)

    def _check_standard_input(self, values: Values) -> None:
        given = [read for read in self.reads for path in read.paths(values) if path == STANDARD]
        for read in given:
            if not read.standard:
                name = read.parameter.upper().replace("_", "-")
                raise UsageError(f"{name}: cannot be standard input (-); give a file")
        if len(given) > 1:
            raise UsageError("standard input (-): can be read only once; give a file")

    def _inputs(self, values: Values) -> Iterator[tuple[_Identity, _Owner]]:
        for read in self.reads:
            for path in read.paths(values):
                for name in [path] if path == STANDARD else read.with_indexes(path):
                    if (identity := _identity(name, 0)) is not None:
                        shown = "standard input" if name == STANDARD else name
                        yield identity, ("input", shown)


def _check_directory(path: str) -> None:
    if path == STANDARD:
        return
    if not Path(path).parent.is_dir():
        raise OutputError(f"{path}: no such directory: {Path(path).parent}")
    if Path(path).is_dir():
        raise OutputError(f"{path}: is a directory; give a file")


def _claim(path: str, taken: dict[_Identity, _Owner]) -> None:
    """Record an output, and refuse it if an input or another output is the same file."""
    identity = _identity(path, 1)
    if identity is None:
        return
    name = "standard output" if path == STANDARD else path
    if identity in taken:
        kind, other = taken[identity]
        which = "" if other == name else f", {other}"
        raise UsageError(f"{name}: is also an {kind}{which}; give another file")
    taken[identity] = "output", name


def _identity(path: str, standard: int) -> _Identity | None:
    """Return the device and inode of a file, or the path of a new one; None if it is not a file.

    Terminals, sockets and the null device can be read and written at the same time.
    """
    try:
        found = os.fstat(standard) if path == STANDARD else os.stat(path)  # noqa: PTH116  (as fstat)
    except OSError:
        return None if path == STANDARD else os.path.realpath(path)
    is_kept = stat.S_ISREG(found.st_mode) or stat.S_ISFIFO(found.st_mode)
    return (found.st_dev, found.st_ino) if is_kept or stat.S_ISBLK(found.st_mode) else None
