"""Formats that samtools converts to and from BAM: SAM text and CRAM."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from io import BufferedReader
from pathlib import Path
from threading import Thread
from typing import IO, BinaryIO, Final, cast

from hapgpu.errors import InputError, OutputError
from hapgpu.io.alignments.formats import ReadFormat, ReadInput
from hapgpu.io.alignments.samtools.failure import SamtoolsFailure
from hapgpu.io.alignments.samtools.process import Samtools
from hapgpu.io.alignments.samtools.sam_faults import (
    NO_RECORD,
    fault_of_line,
    too_long_part,
)
from hapgpu.io.files.htslib import INDEX_DELIMITER, is_parted
from hapgpu.io.files.output import OutputFile
from hapgpu.io.files.record_limit import too_long
from hapgpu.io.genome.regions import Region

_STANDARD_INPUT: Final = "/proc/self/fd/0"
_COPY_BYTES: Final = 1 << 16
_SAM_BYTES: Final = 1 << 28
"""Memory for samtools to read SAM, beside the text of a line and the record that it becomes."""
_WRITE: Final = {"bam": "-b", "cram": "-C"}


class ConvertedInput:
    """SAM or CRAM as a stream of uncompressed BAM.

    Parameters
    ----------
    source
        The file, or the stream that is fed to samtools; closed with this, or if this fails.
    threads
        CPU threads of samtools.
    reference
        FASTA by which CRAM was compressed.
    regions
        Leave out records elsewhere, through the index; for CRAM in a file only.
    index
        Of that file.

    Raises
    ------
    InputError
        The name of the reference is one that samtools would part.
    """

    def __init__(
        self,
        source: ReadInput,
        threads: int,
        reference: Path | None,
        regions: Sequence[Region] | None,
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
            bed = stack.enter_context(_bed_file(regions)) if regions is not None else None
            arguments: list[str | Path] = ["view", "-u", "--no-PG", "-@", str(threads - 1)]
            if reference:
                arguments += ["-T", _whole(reference)]
            if bed and index:
                # By its number in this process: it has no name that could be left behind.
                name = f"/proc/{os.getpid()}/fd/{bed.fileno()}"
                # samtools never gets the name of the file: it would take some names for URLs, and
                # part others. By this one it may seek, and finds no index.
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
    def stream(self) -> BinaryIO:
        """The BAM."""
        return cast("BinaryIO", self._samtools.output)

    @property
    def has_ended(self) -> bool:
        """Whether samtools has no more to give."""
        return not cast("BufferedReader", self._samtools.output).peek(1)

    def check(self, records: int) -> None:
        """Wait for the end of samtools.

        Parameters
        ----------
        records
            How many have come, for messages.

        Raises
        ------
        InputError
            It failed, or the stream that it was fed lacks its end.
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
        # A feeder that waits for more input holds the stream; closing that would wait too.
        if not self._feeder.is_alive():
            self._source.stream.close()

    def _fault(self, failure: SamtoolsFailure, records: int) -> InputError:
        """Return the error that names the line, if the input is SAM and can be read again."""
        name, path = self._source.name, self._source.path
        if self._source.format is not ReadFormat.SAM:
            said = failure.reason or "samtools cannot read it"
            place = self._reference or "its reference"
            return InputError(
                f"{name}: {said}; check {place} and its index, and run: samtools quickcheck {name}"
            )
        if path and (part := too_long_part(path, self._source.max_record)):
            return too_long(f"{name}, {part}", self._source.max_record)
        if failure.is_of_memory:
            return InputError(
                f"{name}: too little memory for its lines; raise --max-record, or give fewer"
                " threads (-t)"
            )
        if path and failure.line is None:
            failure = self._failure_by_line() or failure
        if failure.line is None:
            place = f", after record {records}" if records else ""
            said = failure.reason or NO_RECORD
            remedy = "correct the header" if path else "run: samtools view -c, which names the line"
            return InputError(f"{name}{place}: {said}; {remedy}")
        said = failure.reason or NO_RECORD
        if path:
            said = fault_of_line(path, failure.line, said)
        return InputError(f"{name}, line {failure.line}: {said}; correct or remove the line")

    def _failure_by_line(self) -> SamtoolsFailure | None:
        """Read the file again by one thread: only then does samtools count lines."""
        arguments = ["view", "-u", "-o", os.devnull, "-"]
        stdin = _rewound(self._source.stream)
        again = Samtools(arguments, stdin, subprocess.DEVNULL, self._max_bytes)
        try:
            return again.failure()
        finally:
            again.close()

    def _feed(self) -> None:
        last = b""
        # ValueError: the stream was closed meanwhile, because samtools had failed.
        with suppress(OSError, ValueError), self._samtools.input as sink:
            while data := self._source.stream.read(_COPY_BYTES):
                sink.write(data)
                last = (last + data)[-len(self._source.closing) :]
        self._is_closed = last.endswith(self._source.closing)


def _rewound(stream: BinaryIO) -> int:
    """Return the descriptor of a file, which stands at its beginning."""
    os.lseek(stream.fileno(), 0, os.SEEK_SET)
    return stream.fileno()


def _whole(reference: Path) -> Path:
    """Return the absolute name of a reference, which samtools takes for no URL."""
    if is_parted(reference):
        raise InputError(f"{reference}: samtools parts names at '{INDEX_DELIMITER}'; rename it")
    return reference.absolute()


def _bed_file(regions: Sequence[Region]) -> IO[str]:
    file = tempfile.TemporaryFile("w")  # noqa: SIM115 (closed by the caller)
    file.writelines(f"{region.contig}\t{region.start}\t{region.end}\n" for region in regions)
    file.flush()
    return file


class ConvertedOutput:
    """A sink for SAM or BAM that becomes BAM or CRAM in an output file.

    Parameters
    ----------
    output
        A file that nothing has been written to.
    format
        `bam` or `cram`.
    threads
        CPU threads of samtools.
    reference
        FASTA by which CRAM is compressed.
    """

    def __init__(
        self,
        output: OutputFile,
        format: str,  # noqa: A002 (the name of the option)
        threads: int,
        reference: Path | None = None,
    ) -> None:
        self._target = f"{output.name} as {format.upper()}"
        arguments: list[str | Path] = ["view", _WRITE[format], "--no-PG", "-@", str(threads - 1)]
        if reference and format == "cram":
            arguments += ["-T", _whole(reference)]
        self._descriptor = output.fileno()
        self._samtools = Samtools([*arguments, "-"], subprocess.PIPE, self._descriptor)

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes of SAM or BAM.

        Raises
        ------
        OutputError
            samtools has failed.
        """
        try:
            self._samtools.input.write(data)
        except BrokenPipeError:
            self.finish()

    def finish(self) -> None:
        """Wait until all is written.

        Raises
        ------
        OutputError
            samtools has failed.
        BrokenPipeError
            It has, because nobody reads the output any more.
        """
        with suppress(BrokenPipeError):
            self._samtools.input.close()
        if failure := self._samtools.failure():
            if _has_no_reader(self._descriptor):
                raise BrokenPipeError
            reason = failure.reason or "samtools could not write it; is the disk full?"
            raise OutputError(f"cannot write {self._target}: {reason}")

    def close(self) -> None:
        """End samtools."""
        self._samtools.close()


def index_alignments(data: Path, index: Path, kind: str, threads: int) -> str | None:
    """Index a BAM or CRAM file that is complete.

    Parameters
    ----------
    data
        Sorted.
    index
        The file to write.
    kind
        `csi` of BAM or `crai` of CRAM.
    threads
        CPU threads of samtools.

    Returns
    -------
    str or None
        What went wrong, if it did.
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
    """Tell whether this is the end of a pipe whose other end was closed."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))
