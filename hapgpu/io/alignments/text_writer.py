"""Writer of SAM text as SAM, BAM or CRAM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

from hapgpu.io.alignments.formats import output_format
from hapgpu.io.alignments.samtools.convert import ConvertedOutput
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.files.mmap_output import MmapOutput
from hapgpu.io.files.output import OutputFile

TextSink: TypeAlias = Callable[[memoryview], None]
"""Takes pieces of the text in order; a piece may end within a line."""


@contextmanager
def open_sam_text(
    path: str,
    header: SamHeader,
    *,
    format: str | None = None,  # noqa: A002 (the name of the option)
    threads: int = 1,
    reference: Path | None = None,
    copying_threads: int = 1,
) -> Iterator[TextSink]:
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
        CPU threads that compress BAM or CRAM.
    reference
        FASTA with which CRAM is compressed.
    copying_threads
        Threads that write SAM to a file.

    Raises
    ------
    UsageError
        The format is unknown.
    OutputError
        The output cannot be created or written.
    """
    chosen_format = output_format(path, format)
    text = memoryview(header.text.encode("utf-8", "surrogateescape"))
    with OutputFile(path) as output:
        if chosen_format == "sam" and copying_threads > 1 and output.is_new_file:
            with MmapOutput(output, copying_threads) as writer:
                writer.write(text)
                yield writer.write
            return
        if chosen_format == "sam":
            output.write(text)
            yield output.write
            return
        with closing(ConvertedOutput(output, chosen_format, threads, reference)) as converted:
            converted.write(text)
            yield converted.write
            converted.finish()
