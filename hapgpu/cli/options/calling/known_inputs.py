"""Inputs of a run from the options on contamination and known variants."""

from __future__ import annotations

from hapgpu.calling.genotypes.contamination_file import read_fractions
from hapgpu.calling.options import ContaminationOptions
from hapgpu.calling.output.known_names import DBSNP, KnownFile
from hapgpu.cli.options.calling.known import KnownOptions


def contamination_of(options: KnownOptions, max_record: int) -> ContaminationOptions:
    """Return the options on contamination; read the file of fractions if it is given.

    Raises
    ------
    InputError
        The file is malformed, see `read_fractions`.
    """
    path = options.contamination_file
    return ContaminationOptions(
        fraction=options.contamination,
        by_sample=() if path is None else read_fractions(path, max_record),
        is_for_annotations=options.use_filtered_reads,
    )


def known_files(options: KnownOptions) -> tuple[KnownFile, ...]:
    """Return the files of known variants, dbSNP first."""
    dbsnp = () if options.dbsnp is None else (KnownFile(DBSNP, options.dbsnp),)
    return (*dbsnp, *(KnownFile(named.name, named.path) for named in options.comp or ()))
