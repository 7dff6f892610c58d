"""Files of the FM index."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from hapgpu.io.array_files.array_file import ArrayFormat, Arrays
from hapgpu.io.array_files.header import Header, bytes_of, names_of, whole_of
from hapgpu.io.array_files.index_file import IndexFile, rebuild_command
from hapgpu.mapping.index.checks import is_sound
from hapgpu.mapping.index.fm_index import (
    Contigs,
    FMIndexArrays,
    ReferenceBases,
    SuffixSamples,
)

SUFFIX: Final = ".hgx"
MAGIC: Final = b"\x89HGX\r\n\x1a\n"  # as for PNG: not text, and damaged by converted line ends
VERSION: Final = 1


def default_index_path(fasta: str | Path) -> Path:
    """Return the default path of the index of a FASTA file, beside it."""
    return Path(f"{fasta}{SUFFIX}")


def index_command(fasta: str | Path, path: Path) -> str:
    """Return the command that builds the index of a FASTA file at `path`."""
    target = "" if path == default_index_path(fasta) else f" -o {path}"
    return f"hapgpu index {fasta}{target}"


def _arrays_of(index: FMIndexArrays) -> Arrays:
    bases, suffixes = index.bases, index.suffixes
    arrays: Arrays = {
        "contig_offsets": index.contigs.offsets,
        "planes": bases.planes,
        "others": bases.others,
        "letter_positions": bases.letter_positions,
        "letters": bases.letters,
        "occurrences": index.occurrences,
        "jump": index.jump,
    }
    if isinstance(suffixes, SuffixSamples):
        arrays["sample_marks"] = suffixes.marks
        arrays["sample_ranks"] = suffixes.ranks
        arrays["sample_positions"] = suffixes.positions
    else:
        arrays["suffixes"] = suffixes
    return arrays


def _header_of(index: FMIndexArrays) -> Header:
    """Return the header that `_index_of` reads."""
    return {
        "contigs": index.contigs.names,
        "primary": index.primary,
        "jump_length": index.jump_length,
        "fasta_bytes": index.fasta_bytes,
        "fasta_sha256": index.fasta_sha256.hex(),
    }


def _index_of(header: Header, arrays: Arrays) -> FMIndexArrays:
    suffixes = arrays.get("suffixes")
    return FMIndexArrays(
        contigs=Contigs(names_of(header, "contigs"), arrays["contig_offsets"]),
        bases=ReferenceBases(
            arrays["planes"], arrays["others"], arrays["letter_positions"], arrays["letters"]
        ),
        occurrences=arrays["occurrences"],
        primary=whole_of(header, "primary"),
        jump=arrays["jump"],
        jump_length=whole_of(header, "jump_length"),
        suffixes=SuffixSamples(
            arrays["sample_marks"], arrays["sample_ranks"], arrays["sample_positions"]
        )
        if suffixes is None
        else suffixes,
        fasta_bytes=whole_of(header, "fasta_bytes"),
        fasta_sha256=bytes_of(header, "fasta_sha256"),
    )


def _remedy(path: Path) -> str:
    """Return the command that builds an index again."""
    fasta = str(path).removesuffix(SUFFIX)
    if fasta != str(path) and Path(fasta).is_file():
        return f"hapgpu index {fasta}"
    return rebuild_command(path, SUFFIX, "hapgpu index REF.fa")


FM_INDEX_FILE: Final = IndexFile(
    ArrayFormat(
        what="index of hapgpu",
        magic=MAGIC,
        version=VERSION,
        dtypes={
            "contig_offsets": np.int64,
            "planes": np.uint64,
            "others": np.uint64,
            "letter_positions": np.int64,
            "letters": np.uint8,
            "occurrences": np.uint32,
            "jump": np.uint32,
            "suffixes": np.uint32,
            "sample_marks": np.uint64,
            "sample_ranks": np.uint32,
            "sample_positions": np.uint32,
        },
        remedy=_remedy,
    ),
    header_of=_header_of,
    arrays_of=_arrays_of,
    index_of=_index_of,
    is_sound=is_sound,
)
"""Files of FM indexes."""
