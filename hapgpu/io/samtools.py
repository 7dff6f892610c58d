"""Formats that samtools converts to and from BAM: SAM text and CRAM."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, BinaryIO, Final, cast

from hapgpu import leftovers
from hapgpu.errors import InputError, OutputError
from hapgpu.io.output import OutputFile
from hapgpu.io.regions import Region
from hapgpu.io.sniff import ReadInput

_COMMAND = Path(__file__).with_name("samtools_command.py")
_ORIGIN = re.compile(r"\[[EW]::\w+\] |samtools view: ")
_COPY_BYTES: Final = 1 << 16
_WRITE: Final = {"bam": "-b", "cram": "-C"}


class _Samtools:
    """A running `samtools view`."""

    def __init__(self, arguments: Sequence[str | Path], stdin: int | None, stdout: int) -> None:
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        with leftovers.steady():
            self._process = subprocess.Popen(  # noqa: S603 (a list of arguments, no shell)
                [sys.executable, "-P", _COMMAND, *arguments],
                stdin=stdin,
                stdout=stdout,
                stderr=self._messages,
                process_group=0,  # Ctrl-C is for this process, which then ends samtools
            )
            self._leftover = leftovers.register(self._process.kill)

    @property
    def input(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdin)

    @property
    def output(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdout)

    def failure(self) -> str | None:
        """Wait for the end; return what went wrong in one line, or None."""
        if self._process.wait() == 0:
            return None
        self._messages.seek(0)
        lines = self._messages.read().decode("utf-8", "replace").splitlines()
        said = [_ORIGIN.sub("", line).strip() for line in lines if line.strip()]
        return "; ".join(said[:2]) or f"samtools ended with status {self._process.returncode}"

    def close(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        leftovers.forget(self._leftover)
        for stream in (self._process.stdin, self._process.stdout, self._messages):
            if stream:
                with suppress(OSError):
                    stream.close()
        self._process.wait()


class ConvertedInput:
    """SAM or CRAM as a stream of uncompressed BAM.

    Parameters
    ----------
    source
        The file, or the stream that is fed to samtools.
    threads
        CPU threads of samtools.
    reference
        FASTA by which CRAM was compressed.
    regions
        Leave out records elsewhere, through the index; for CRAM in a file only.
    """

    def __init__(
        self,
        source: ReadInput,
        threads: int,
        reference: Path | None,
        regions: Sequence[Region] | None,
    ) -> None:
        self._source = source
        self._is_closed = True
        self._bed = _bed_file(regions) if regions is not None else None
        arguments: list[str | Path] = ["-u", "--no-PG", "-@", str(threads - 1)]
        if reference:
            arguments += ["-T", reference]
        if self._bed:
            # By its number in this process: it has no name that could be left behind.
            arguments += ["-M", "-L", f"/proc/{os.getpid()}/fd/{self._bed.fileno()}"]
        arguments += ["--", source.path or "-"]
        stdin = subprocess.DEVNULL if source.path else subprocess.PIPE
        self._samtools = _Samtools(arguments, stdin, subprocess.PIPE)
        self._feeder = Thread(target=self._feed, daemon=True)
        if not source.path:
            self._feeder.start()

    @property
    def stream(self) -> BinaryIO:
        """The BAM."""
        return cast("BinaryIO", self._samtools.output)

    def check(self) -> None:
        """Wait for the end of samtools.

        Raises
        ------
        InputError
            It failed, or the stream that it was fed lacks its end.
        """
        if failure := self._samtools.failure():
            raise InputError(f"cannot read {self._source.name}: {failure}")
        if not self._source.path:
            self._feeder.join()
        if not self._is_closed:
            raise self._source.truncated()

    def close(self) -> None:
        """End samtools and close the source."""
        self._samtools.close()
        if self._bed:
            self._bed.close()
        # A feeder that waits for more input holds the stream; closing that would wait too.
        if not self._feeder.is_alive():
            self._source.stream.close()

    def _feed(self) -> None:
        last = b""
        # ValueError: the stream was closed meanwhile, because samtools had failed.
        with suppress(OSError, ValueError), self._samtools.input as sink:
            while data := self._source.stream.read(_COPY_BYTES):
                sink.write(data)
                last = (last + data)[-len(self._source.closing) :]
        self._is_closed = last.endswith(self._source.closing)


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
        arguments: list[str | Path] = [_WRITE[format], "--no-PG", "-@", str(threads - 1)]
        if reference and format == "cram":
            arguments += ["-T", reference]
        self._descriptor = output.fileno()
        self._samtools = _Samtools([*arguments, "-"], subprocess.PIPE, self._descriptor)

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
            raise OutputError(f"cannot write {self._target}: {failure}")

    def close(self) -> None:
        """End samtools."""
        self._samtools.close()


def _has_no_reader(descriptor: int) -> bool:
    """Tell whether this is the end of a pipe whose other end was closed."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))
