"""Files of known variants, from the options."""

from __future__ import annotations

from hapgpu.calling.known.names import DBSNP, KnownFile
from hapgpu.cli.options.calling.known import KnownOptions


def known_files(options: KnownOptions) -> tuple[KnownFile, ...]:
    """Return the files of known variants, dbSNP first."""
    dbsnp = () if options.dbsnp is None else (KnownFile(DBSNP, options.dbsnp),)
    return (*dbsnp, *(KnownFile(named.name, named.path) for named in options.comp or ()))
