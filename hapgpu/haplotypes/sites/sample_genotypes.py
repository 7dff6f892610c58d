"""The genotypes that samples have in a VCF."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from hapgpu.errors import InputError
from hapgpu.io.vcf.records import VcfRecord

_MISSING_VALUE: Final = "."
_WITHOUT_SET: Final = ""
_MAX_DIGITS: Final = 9
_GENOTYPES_REMEMBERED: Final = 1 << 12


class Genotype(NamedTuple):
    """The alleles of a sample at a site.

    Attributes
    ----------
    alleles
        Their numbers, one for each copy of the chromosome, 0 for REF; none where they are unknown,
        be it in part.
    phase_set
        Genotypes of one phase set name the copies in the same order; None for one without phase.
    """

    alleles: tuple[int, ...]
    phase_set: str | None


UNKNOWN: Final = Genotype((), None)


def genotypes_of(record: VcfRecord, source: str) -> tuple[Genotype, ...]:
    """Read the genotypes of all samples of a record (GT and PS of VCF 4.3).

    Phased genotypes without PS are one phase set, that of their contig.

    Parameters
    ----------
    record
        One without samples is taken for one with a sample of unknown genotype.
    source
        Name of its file, for errors.

    Raises
    ------
    InputError
        A genotype cannot be read, or names an allele that the record does not have.
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
    """Return one value of each sample."""
    if key not in keys:
        return [_MISSING_VALUE] * len(samples)
    place = keys.index(key)
    if not place:
        return [sample.partition(":")[0] for sample in samples]
    values = (sample.split(":", place + 1)[place:] for sample in samples)
    return [found[0] if found else _MISSING_VALUE for found in values]


def _checked(call: tuple[str, str], record: VcfRecord, source: str) -> Genotype:
    """Return the genotype that GT and PS of a sample tell."""
    genotype = _genotype(*call)
    if genotype is None or max(genotype.alleles, default=0) > len(record.alternatives):
        raise InputError(
            f"{source}, {record.label}: GT '{call[0]}' is no genotype of a site with"
            f" {len(record.alternatives)} ALT alleles"
        )
    return genotype


@lru_cache(_GENOTYPES_REMEMBERED)
def _genotype(text: str, phase_set: str) -> Genotype | None:
    """Return the genotype, None for text that is none."""
    # From VCF 4.4 on, the first allele may have a sign of its phase too.
    numbers = text.removeprefix("/").removeprefix("|").replace("|", "/").split("/")
    if not all(n == _MISSING_VALUE or (n.isdecimal() and len(n) <= _MAX_DIGITS) for n in numbers):
        return None
    if _MISSING_VALUE in numbers:
        return UNKNOWN
    is_phased = "|" in text and "/" not in text
    named = phase_set if phase_set != _MISSING_VALUE else _WITHOUT_SET
    return Genotype(tuple(map(int, numbers)), named if is_phased else None)
