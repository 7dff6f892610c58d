"""Conversion of SAM text and CRAM to BAM, and of both to CRAM, by samtools."""

from __future__ import annotations

import os
import re
import select
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from io import BufferedReader
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import IO, Final

from hapgpu.errors import InputError, OutputError
from hapgpu.io.alignments.formats import ReadFormat, ReadInput
from hapgpu.io.alignments.samtools import Samtools, SamtoolsFailure
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.htslib import INDEX_DELIMITER, has_index_delimiter
from hapgpu.io.files.output import OutputFile
from hapgpu.io.files.record_limit import too_long
from hapgpu.io.genome.regions import Region, RegionChoice
from hapgpu.io.text.values import LAST_POSITION, excerpt, parse_position

_STANDARD_INPUT: Final = "/proc/self/fd/0"
_COPY_BYTES: Final = 1 << 16
_SAM_BYTES: Final = 1 << 28
"""Memory for samtools to read SAM, beside the text of a line and its record."""

_COLUMNS: Final = 11
_PART_BYTES: Final = 1 << 20
_NUMBERS: Final = (
    ("FLAG", 1, 2**16 - 1),
    ("POS", 3, LAST_POSITION),
    ("MAPQ", 4, 255),
    ("PNEXT", 7, LAST_POSITION),
)
_TEMPLATE_LENGTH: Final = re.compile(r"-?\d{1,10}", re.ASCII)
_SEQUENCE, _QUALITIES = 9, 10
NO_RECORD: Final = "not a SAM record"


class ConvertedInput:
    """SAM or CRAM as a stream of uncompressed BAM.

    Parameters
    ----------
    source
        The file, or the stream that samtools reads; closed with this input, or if the
        constructor fails.
    threads
        CPU threads of samtools.
    reference
        FASTA with which CRAM was compressed.
    regions
        With an index: some records outside these regions are left out.
    index
        Index of a CRAM file; None to read the whole file.

    Raises
    ------
    InputError
        samtools would split the name of the reference.
    """

    def __init__(
        self,
        source: ReadInput,
        threads: int,
        reference: Path | None,
        regions: RegionChoice,
        index: Path | None = None,
    ) -> None:
        self._source = source
        self._reference = reference
        is_sam = source.format is ReadFormat.SAM
        self._max_bytes = _SAM_BYTES + 2 * source.max_record if is_sam else None
        self._is_closed = True
        self._feeder = Thread(target=self._feed, daemon=True)
        with ExitStack() as stack:
            stack.callback(self._close_source)
            bed = stack.enter_context(_bed_file(regions)) if index else None
            arguments: list[str | Path] = ["view", "-u", "--no-PG", "-@", str(threads - 1)]
            if reference:
                arguments += ["-T", _absolute_name(reference)]
            if bed and index:
                # The path of the descriptor: the file has no name that could remain.
                name = f"/proc/{os.getpid()}/fd/{bed.fileno()}"
                # samtools never gets the name of the file: it would treat some names as URLs, and
                # split others. Through this name it can seek, and finds no index.
                arguments += ["-M", "-L", name, "-X", _STANDARD_INPUT, index.absolute()]
            else:
                arguments += ["-"]
            stdin = _rewound(source.stream) if source.path else subprocess.PIPE
            self._samtools = Samtools(arguments, stdin, subprocess.PIPE, self._max_bytes)
            stack.callback(self._samtools.close)
            if not source.path:
                self._feeder.start()
            self._stack = stack.pop_all()

    @property
    def stream(self) -> BufferedReader:
        """Stream of uncompressed BAM."""
        return self._samtools.output

    @property
    def has_ended(self) -> bool:
        """Whether the output of samtools has ended."""
        return not self._samtools.output.peek(1)

    def check(self, records: int) -> None:
        """Wait for the end of samtools.

        Parameters
        ----------
        records
            Number of records read so far, for messages.

        Raises
        ------
        InputError
            samtools failed, or the stream lacks its end.
        """
        if failure := self._samtools.failure():
            raise self._fault(failure, records)
        if not self._source.path:
            self._feeder.join()
        if not self._is_closed:
            raise self._source.truncated()

    def close(self) -> None:
        """End samtools and close the source."""
        self._stack.close()

    def _close_source(self) -> None:
        # A feeder that waits for input holds the stream; closing the stream would wait too.
        if not self._feeder.is_alive():
            self._source.stream.close()

    def _fault(self, failure: SamtoolsFailure, records: int) -> InputError:
        """Return the error; it names the line if the input is SAM and can be read again."""
        name, path = self._source.name, self._source.path
        if self._source.format is not ReadFormat.SAM:
            reason = failure.reason or "samtools cannot read it"
            reference = self._reference or "its reference"
            return InputError(
                f"{name}: {reason}; check {reference} and its index, and run: samtools quickcheck"
                f" {name}"
            )
        if path and (part := too_long_part(path, self._source.max_record)):
            return too_long(f"{name}, {part}", self._source.max_record)
        if failure.is_out_of_memory:
            return InputError(
                f"{name}: too little memory for its lines; raise --max-record or use fewer"
                " threads (-t)"
            )
        if path and failure.line is None:
            failure = self._failure_by_line() or failure
        if failure.line is None:
            position = f", after record {records}" if records else ""
            reason = failure.reason or NO_RECORD
            remedy = "correct the header" if path else "run: samtools view -c, which names the line"
            return InputError(f"{name}{position}: {reason}; {remedy}")
        reason = failure.reason or NO_RECORD
        if path:
            reason = fault_of_line(path, failure.line, reason)
        return InputError(f"{name}, line {failure.line}: {reason}; correct or remove the line")

    def _failure_by_line(self) -> SamtoolsFailure | None:
        """Read the file again on one thread: only then does samtools count lines."""
        arguments = ["view", "-u", "-o", os.devnull, "-"]
        stdin = _rewound(self._source.stream)
        again = Samtools(arguments, stdin, subprocess.DEVNULL, self._max_bytes)
        try:
            return again.failure()
        finally:
            again.close()

    def _feed(self) -> None:
        last = b""
        # ValueError: the stream was closed because samtools had failed.
        with suppress(OSError, ValueError), self._samtools.input as sink:
            while data := self._source.stream.read(_COPY_BYTES):
                sink.write(data)
                sink.flush()  # the buffer may be larger than this part, and the next may be late
                last = (last + data)[-len(self._source.closing) :]
        self._is_closed = last.endswith(self._source.closing)


def _rewound(stream: BufferedReader) -> int:
    """Move a file to its start and return its descriptor."""
    os.lseek(stream.fileno(), 0, os.SEEK_SET)
    return stream.fileno()


def _absolute_name(reference: Path) -> Path:
    """Return the absolute name of a reference, which samtools does not treat as a URL."""
    if has_index_delimiter(reference):
        raise InputError(f"{reference}: samtools splits names at '{INDEX_DELIMITER}'; rename it")
    return reference.absolute()


def _bed_file(choice: RegionChoice) -> IO[str]:
    """Return an open file with the shorter set of the regions of a choice."""
    regions = min(choice.possible_sets(), key=_bases)
    file = tempfile.TemporaryFile("w")  # noqa: SIM115 (closed by the caller)
    file.writelines(f"{region.contig}\t{region.start}\t{region.end}\n" for region in regions)
    file.flush()
    return file


def _bases(regions: Sequence[Region]) -> int:
    return sum(region.end - region.start for region in regions)


class ConvertedOutput:
    """Output file of CRAM, to which SAM or BAM is written.

    Parameters
    ----------
    output
        An output to which nothing has been written.
    threads
        CPU threads of samtools.
    reference
        FASTA with which CRAM is compressed.
    """

    def __init__(self, output: OutputFile, threads: int, reference: Path | None = None) -> None:
        self._label = f"{output.name}: cannot be written as CRAM"
        arguments: list[str | Path] = ["view", "-C", "--no-PG", "-@", str(threads - 1)]
        # Otherwise readers make these tags anew, after the other tags.
        for option in ("store_md=1", "store_nm=1"):
            arguments += ["--output-fmt-option", option]
        if reference:
            arguments += ["-T", _absolute_name(reference)]
        self._descriptor = output.fileno()
        self._samtools = Samtools([*arguments, "-"], subprocess.PIPE, self._descriptor)

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes of SAM or BAM.

        Raises
        ------
        OutputError
            samtools failed.
        """
        try:
            self._samtools.input.write(data)
        except BrokenPipeError:
            self.finish()

    def finish(self) -> None:
        """Wait until the output is written.

        Raises
        ------
        OutputError
            samtools failed.
        BrokenPipeError
            samtools failed because the reader of the output is gone.
        """
        with suppress(BrokenPipeError):
            self._samtools.input.close()
        if failure := self._samtools.failure():
            if _has_no_reader(self._descriptor):
                raise BrokenPipeError
            remedy = "" if failure.reason else "; check the free disk space"
            raise OutputError(f"{self._label} ({failure.reason or 'samtools failed'}){remedy}")

    def close(self) -> None:
        """End samtools."""
        self._samtools.close()


def index_alignments(data: Path, index: Path, kind: str, threads: int) -> str | None:
    """Index a complete BAM or CRAM file.

    Parameters
    ----------
    data
        The file, sorted by coordinate.
    index
        The file to write.
    kind
        `csi` for BAM, `crai` for CRAM.
    threads
        CPU threads of samtools.

    Returns
    -------
    str or None
        The error message, if samtools failed.
    """
    options = ["-c"] if kind == "csi" else []
    arguments = ["index", *options, "-@", str(threads - 1), "-o", str(index), str(data)]
    samtools = Samtools(arguments, subprocess.DEVNULL, subprocess.DEVNULL)
    try:
        failure = samtools.failure()
    finally:
        samtools.close()
    return None if failure is None else str(failure)


def _has_no_reader(descriptor: int) -> bool:
    """Tell whether a descriptor is a pipe whose reader has closed it."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def fault_of_line(path: Path, number: int, default: str) -> str:
    """Return the fault of a line of a file.

    Parameters
    ----------
    path
        SAM, plain or compressed.
    number
        Number of the line, from 1.
    default
        Returned if no fault is found: the reason that samtools gave.

    Raises
    ------
    InputError
        The file can no longer be read.
    """
    with open_inflated(path, str(path)) as stream:
        line = next(islice(stream, number - 1, None), b"")
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    return _shape_fault(text) or _number_fault(text.split("\t")) or default


def too_long_part(path: Path, limit: int) -> str | None:
    """Find the first line, or the header, of a file that exceeds a limit.

    Parameters
    ----------
    path
        SAM, plain or compressed.
    limit
        Maximum size in bytes.

    Returns
    -------
    Its name, such as `line 3` or `header`, or None.

    Raises
    ------
    InputError
        The file can no longer be read.
    """
    line, size, header = 1, 0, 0
    in_header = True
    with open_inflated(path, str(path)) as stream:
        while part := stream.readline(_PART_BYTES):
            in_header = in_header and (size > 0 or part.startswith(b"@"))
            size += len(part)
            header += len(part) if in_header else 0
            if size > limit or header > limit:
                return f"line {line}" if size > limit else "header"
            if part.endswith(b"\n"):
                line, size = line + 1, 0
    return None


def _shape_fault(text: str) -> str:
    """Return the fault of a line that is not a record at all, or an empty string."""
    if not text.strip():
        return "blank line"
    if "\0" in text:
        return "contains a NUL byte"
    if text.startswith("@"):
        return "header line among the records"
    columns = text.count("\t") + 1
    if columns < _COLUMNS:
        return f"found {columns} columns, expected at least {_COLUMNS}, separated by tabs"
    return ""


def _number_fault(fields: list[str]) -> str:
    for name, column, maximum in _NUMBERS:
        value = parse_position(fields[column])
        if value is None or value > maximum:
            found = excerpt(fields[column])
            return f"{name} is '{found}', expected a whole number from 0 to {maximum}"
    if not _TEMPLATE_LENGTH.fullmatch(fields[8]):
        return f"TLEN is '{excerpt(fields[8])}', expected a whole number"
    bases, qualities = len(fields[_SEQUENCE]), len(fields[_QUALITIES])
    if fields[_QUALITIES] != "*" and bases != qualities:
        return f"SEQ has {bases} bases, but QUAL has {qualities} qualities"
    return ""
