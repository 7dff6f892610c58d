"""Writer of SAM text as SAM, BAM or CRAM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from hapgpu.io.alignments.formats import output_format
from hapgpu.io.alignments.samtools.convert import ConvertedOutput
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.files.output import OutputFile
from hapgpu.io.files.text_output import WriteText, open_text


@contextmanager
def open_sam_text(
    path: str,
    header: SamHeader,
    *,
    format: str | None = None,  # noqa: A002 (the name of the option)
    threads: int = 1,
    reference: Path | None = None,
    copying_threads: int = 1,
) -> Iterator[WriteText]:
    """Open an output for lines of SAM; an exception in the context discards it.

    Parameters
    ----------
    path
        A file, which appears when it is complete, or `-` for standard output.
    header
        Header of the output, which is written first.
    format
        `sam`, `bam` or `cram`; by default from the extension of the path, else SAM.
    threads
        CPU threads that compress.
    reference
        FASTA with which CRAM is compressed.
    copying_threads
        Threads that write plain SAM to a file.

    Raises
    ------
    UsageError
        The format is unknown.
    OutputError
        The output cannot be created or written.
    """
    chosen_format = output_format(path, format)
    text = memoryview(header.text.encode("utf-8", "surrogateescape"))
    if chosen_format == "sam":
        with open_text(path, threads, copying_threads) as write:
            write(text)
            yield write
        return
    with (
        OutputFile(path) as output,
        closing(ConvertedOutput(output, chosen_format, threads, reference)) as converted,
    ):
        converted.write(text)
        yield converted.write
        converted.finish()
