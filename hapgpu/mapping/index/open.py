"""The index of a reference: the one that was kept, or one for this run."""

from __future__ import annotations

import logging
from pathlib import Path

from hapgpu.io.files.reread import is_pipe
from hapgpu.mapping.index.build import build_index
from hapgpu.mapping.index.files import check_index_belongs, default_index_path, load_index
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.runtime.devices import Device

logger = logging.getLogger(__name__)


def open_index(fasta: Path, device: Device, path: Path | None = None) -> FMIndexArrays:
    """Load the index of a reference, or build it where none lies beside the FASTA file.

    Parameters
    ----------
    fasta
        The reference, plain or gzip-compressed.
    device
        Where the index is built, if it has to be.
    path
        Where it lies; by default beside the FASTA file. One that is named has to exist.

    Raises
    ------
    InputError
        A file cannot be read, or the index is damaged or was made of another FASTA file.
    DeviceError
        The memory of the GPU does not suffice to build it.
    """
    source = path or default_index_path(fasta)
    if path is None and not source.exists():
        remedy = "" if is_pipe(str(fasta)) else f": 'hapgpu index {fasta}' keeps it"
        logger.warning("building the index of %s, for this run only%s", fasta, remedy)
        return build_index(fasta, device)
    index = load_index(source)
    check_index_belongs(index, source, fasta)
    return index
