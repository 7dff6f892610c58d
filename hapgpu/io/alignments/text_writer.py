"""SAM that is text already, written as SAM, BAM or CRAM."""

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
"""Takes whole or broken lines, one piece after the other."""


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
    """Open an output for lines of SAM; leaving the context with an exception discards it.

    Parameters
    ----------
    path
        A file, which appears when it is complete, or `-` for standard output.
    header
        What is written first.
    format
        `sam`, `bam` or `cram`; by default what the extension of the path says, or SAM.
    threads
        CPU threads that compress BAM or CRAM.
    reference
        FASTA by which CRAM is compressed.
    copying_threads
        That write SAM into a file at the same time.

    Raises
    ------
    UsageError
        The format is unknown.
    OutputError
        The output cannot be made or written.
    """
    chosen = output_format(path, format)
    text = memoryview(header.text.encode("utf-8", "surrogateescape"))
    with OutputFile(path) as output:
        if chosen == "sam" and copying_threads > 1 and output.is_new_file:
            with MmapOutput(output, copying_threads) as writer:
                writer.write(text)
                yield writer.write
            return
        if chosen == "sam":
            output.write(text)
            yield output.write
            return
        with closing(ConvertedOutput(output, chosen, threads, reference)) as converted:
            converted.write(text)
            yield converted.write
            converted.finish()
