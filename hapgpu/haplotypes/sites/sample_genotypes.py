"""Genotypes of the samples of a VCF."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from hapgpu.errors import InputError
from hapgpu.io.vcf.records import VcfRecord

_MISSING_VALUE: Final = "."
_DEFAULT_PHASE_SET: Final = ""
_MAX_DIGITS: Final = 9
_CACHED_GENOTYPES: Final = 1 << 12


class Genotype(NamedTuple):
    """The genotype of a sample at a site.

    Attributes
    ----------
    alleles
        Numbers of alleles, one per chromosome copy, 0 for REF; empty if any of them is missing.
    phase_set
        Genotypes of one phase set list the copies in the same order; None for no phase.
    """

    alleles: tuple[int, ...]
    phase_set: str | None


UNKNOWN: Final = Genotype((), None)


def genotypes_of(record: VcfRecord, source: str) -> tuple[Genotype, ...]:
    """Read the genotypes of all samples of a record (GT and PS of VCF 4.3).

    Phased genotypes of a contig without PS are one phase set.

    Parameters
    ----------
    record
        A record without samples is treated as one with a sample of unknown genotype.
    source
        Name of its file, for errors.

    Raises
    ------
    InputError
        A genotype is invalid, or names an allele that the record does not have.
    """
    if not record.genotypes:
        return (UNKNOWN,)
    names, *samples = record.genotypes.split("\t")
    keys = names.split(":")
    if "GT" not in keys:
        return (UNKNOWN,) * len(samples)
    calls = list(zip(*(_column(samples, keys, key) for key in ("GT", "PS")), strict=True))
    genotypes = {call: _checked(call, record, source) for call in dict.fromkeys(calls)}
    return tuple(genotypes[call] for call in calls)


def _column(samples: Sequence[str], keys: Sequence[str], key: str) -> list[str]:
    """Return the value of a FORMAT key for each sample."""
    if key not in keys:
        return [_MISSING_VALUE] * len(samples)
    column = keys.index(key)
    if not column:
        return [sample.partition(":")[0] for sample in samples]
    values = (sample.split(":", column + 1)[column:] for sample in samples)
    return [found[0] if found else _MISSING_VALUE for found in values]


def _checked(call: tuple[str, str], record: VcfRecord, source: str) -> Genotype:
    """Return the genotype of GT and PS of a sample."""
    genotype = _genotype(*call)
    if genotype is None or max(genotype.alleles, default=0) > len(record.alternatives):
        raise InputError(
            f"{source}, {record.label}: GT '{call[0]}' is not a genotype of a site with"
            f" {len(record.alternatives)} ALT alleles; correct it"
        )
    return genotype


@lru_cache(_CACHED_GENOTYPES)
def _genotype(text: str, phase_set: str) -> Genotype | None:
    """Return the genotype; None for invalid text."""
    # From VCF 4.4 on, a phase sign may come before the first allele too.
    numbers = text.removeprefix("/").removeprefix("|").replace("|", "/").split("/")
    if not all(n == _MISSING_VALUE or (n.isdecimal() and len(n) <= _MAX_DIGITS) for n in numbers):
        return None
    if _MISSING_VALUE in numbers:
        return UNKNOWN
    is_phased = "|" in text and "/" not in text
    named = phase_set if phase_set != _MISSING_VALUE else _DEFAULT_PHASE_SET
    return Genotype(tuple(map(int, numbers)), named if is_phased else None)
