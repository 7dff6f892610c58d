"""Options of `call` about ploidies."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hapgpu.calling.options import VariantOptions
from hapgpu.calling.ploidies import MAX_PLOIDY, Ploidies
from hapgpu.cli.options.effects import contradicts
from hapgpu.cli.options.file_kinds import PLOIDIES
from hapgpu.cli.options.files import Read
from hapgpu.errors import UsageError

if TYPE_CHECKING:
    from hapgpu.calling.ploidies import PloidyRegion

logger = logging.getLogger(__name__)

_MANY: Final = 100_000
_PANEL: Final = "Genotyping"
_DEFAULT: Final = VariantOptions()


class Sex(StrEnum):
    """Sex chromosomes of the samples."""

    XX = "xx"
    XY = "xy"


@dataclass(frozen=True, slots=True, kw_only=True)
class PloidyOptions:
    """The options on copies of the samples."""

    ploidy: Annotated[
        int,
        typer.Option(
            "--sample-ploidy",
            "--ploidy",
            metavar="INT",
            min=1,
            max=MAX_PLOIDY,
            help="Copies of each contig in a sample; of a pool, in all its members.",
            rich_help_panel=_PANEL,
        ),
    ] = _DEFAULT.ploidies.default
    ploidy_regions: Annotated[
        Path | None,
        typer.Option(
            "--ploidy-regions",
            metavar="FILE",
            help="Other ploidies of regions: BED or interval_list, each name a ploidy.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    sex: Annotated[
        Sex | None,
        typer.Option(
            "--sex",
            case_sensitive=False,
            help="xy: one copy of X and Y outside the pseudoautosomal regions of GRCh37, GRCh38.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    max_genotype_count: Annotated[
        int,
        typer.Option(
            "--max-genotype-count",
            metavar="INT",
            min=2,
            max=_MANY,
            help="Genotypes per site, at most: drop the alleles of the worst haplotypes.",
            rich_help_panel=_PANEL,
        ),
    ] = _DEFAULT.max_genotypes

    def ploidies(self, reference: Path, max_record: int) -> Ploidies:
        """Return the ploidies of a run.

        Parameters
        ----------
        reference
            The reference.
        max_record
            Bytes of the file of regions, at most.

        Raises
        ------
        InputError
            The file of regions or the reference cannot be read, or they do not fit.
        UsageError
            Two alleles have more genotypes of the highest ploidy than --max-genotype-count.
        """
        found = Ploidies.of(self.ploidy, self._regions(reference, max_record))
        if found.highest >= self.max_genotype_count:
            raise UsageError(
                f"--max-genotype-count: two alleles have {found.highest + 1} genotypes of ploidy"
                f" {found.highest}; give at least {found.highest + 1}"
            )
        return found

    def _regions(self, reference: Path, max_record: int) -> list[PloidyRegion]:
        if self.ploidy_regions is None and self.sex is not Sex.XY:
            return []
        from hapgpu.calling.ploidy_regions import (  # noqa: PLC0415  (imports NumPy)
            haploid_regions,
            read_ploidies,
        )
        from hapgpu.io.genome.reference import ReferenceFasta  # noqa: PLC0415  (imports NumPy)

        with ReferenceFasta(reference) as opened:
            lengths = opened.lengths
        found = haploid_regions(reference, lengths) if self.sex is Sex.XY else []
        if self.ploidy_regions is not None:
            of_file = read_ploidies(self.ploidy_regions, reference, lengths, max_record)
            if not of_file:
                logger.warning("%s: no region, nothing has another ploidy", self.ploidy_regions)
            found += of_file
        return found


PLOIDY_FILES: Final = (Read("ploidy_regions", expected=PLOIDIES),)
PLOIDY_EFFECTS: Final = (contradicts("sex", "--sex", "ploidy"),)
