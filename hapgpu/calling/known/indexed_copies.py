"""Indexed copies of known variants that are text."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import pysam

from hapgpu.calling.known.names import KnownFile
from hapgpu.errors import InputError
from hapgpu.io.files.htslib import silent_htslib
from hapgpu.runtime import leftovers

logger = logging.getLogger(__name__)

_GZIP: Final = b"\x1f\x8b"


def by_position(file: KnownFile, stack: ExitStack) -> KnownFile:
    """Return known variants that can be read by positions: of a text, an indexed copy is made.

    GATK indexes such files, too, but keeps its index beside them.

    Parameters
    ----------
    file
        The variants.
    stack
        Removes the copy when it is closed.

    Raises
    ------
    InputError
        The file cannot be read, or is not sorted; or there is no room for the copy.
    """
    if not file.path.is_file():
        return file  # a pipe has no index, either
    try:
        with file.path.open("rb") as source:
            if source.read(len(_GZIP)) == _GZIP:
                return file
        copy = stack.enter_context(leftovers.temporary_directory()) / "known.vcf.gz"
        with silent_htslib():
            pysam.tabix_compress(str(file.path), str(copy))
            pysam.tabix_index(str(copy), preset="vcf")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its records are not sorted"
        raise InputError(
            f"{file.path}: cannot be indexed ({reason}); run: bcftools sort -Oz -o {file.path}.gz"
            f" {file.path}, then: tabix -p vcf {file.path}.gz"
        ) from error
    logger.info("%s: indexed for this run; to keep an index, compress it by bgzip", file.path)
    return replace(file, copy=copy)
