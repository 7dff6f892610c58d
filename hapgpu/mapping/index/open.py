"""The FM index of a reference, loaded or built."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hapgpu.mapping.index.build import build_index
from hapgpu.mapping.index.files import FM_INDEX_FILE, default_index_path, index_command
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.runtime.devices import Device
from hapgpu.runtime.progress import NoProgress, Progress

_NO_PROGRESS: Final = NoProgress()


def open_index(
    reference: Path,
    device: Device,
    progress: Progress = _NO_PROGRESS,
) -> FMIndexArrays:
    """Load the index of a reference, or build it if there is none beside the FASTA file.

    Parameters
    ----------
    reference
        FASTA, plain or gzip-compressed, or an index.
    device
        Device that builds the index, if there is none.
    progress
        Receives the phases of building; started and finished by the caller.

    Raises
    ------
    InputError
        A file cannot be read, or the index is damaged or was built from another FASTA file.
    DeviceError
        The GPU has too little memory to build the index.
    """
    if FM_INDEX_FILE.is_index(reference):
        return FM_INDEX_FILE.load(reference)
    path = default_index_path(reference)
    return FM_INDEX_FILE.load_or_build(
        reference,
        path,
        index_command(reference, path),
        lambda: build_index(reference, device, progress=progress),
    )
