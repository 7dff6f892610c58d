"""The FM index of a reference, loaded or built."""

from __future__ import annotations

from pathlib import Path

from hapgpu.mapping.index.build import build_index
from hapgpu.mapping.index.files import FM_INDEX_FILE, default_index_path, index_command
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.runtime.devices import Device


def open_index(fasta: Path, device: Device, path: Path | None = None) -> FMIndexArrays:
    """Load the index of a reference, or build it where none lies beside the FASTA file.

    Parameters
    ----------
    fasta
        The reference, plain or gzip-compressed.
    device
        Builds the index, if there is none.
    path
        Of an index, which has to exist; by default, one is looked for beside the FASTA file.

    Raises
    ------
    InputError
        A file cannot be read, or the index is damaged or was made of another FASTA file.
    DeviceError
        The memory of the GPU does not suffice to build it.
    """
    if path is not None:
        return FM_INDEX_FILE.load_for(fasta, path, index_command(fasta, path))
    kept = default_index_path(fasta)
    return FM_INDEX_FILE.load_or_build(
        fasta, kept, index_command(fasta, kept), lambda: build_index(fasta, device)
    )
