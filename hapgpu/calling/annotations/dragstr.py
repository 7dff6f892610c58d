"""Repeats of indels by the DRAGstr model, and its values that were used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.calling.batches import VariantCalls
from hapgpu.calling.genotypes.kept_alleles import is_symbolic
from hapgpu.calling.record_columns import DragstrTexts
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.pairhmm.dragstr.parameters import DragstrParameters
from hapgpu.pairhmm.dragstr.repeats import locus_repeats


def dragstr_texts(
    calls: VariantCalls, reference: ReferenceSlice, parameters: DragstrParameters
) -> DragstrTexts:
    """Return the texts of DRAGstrInfo and DRAGstrParams, of records with an indel.

    The locus is the base after POS. Source: `DragstrVariantContextAnnotations` of
    broadinstitute/gatk.

    Parameters
    ----------
    calls
        v records.
    reference
        Holds their positions, and the bases around.
    parameters
        The model.
    """
    rows = np.flatnonzero(_have_indel(calls))
    loci = calls.starts[rows] + 1 - reference.start
    found = np.column_stack(locus_repeats(reference.bases, loci, parameters.max_period))
    kinds, of_rows = np.unique(found, axis=0, return_inverse=True)
    periods, copies = kinds[:, 0], kinds[:, 1]
    tables = parameters.gap_opens, parameters.gap_continuations, parameters.indel_priors
    values = np.column_stack([parameters.at(table, periods, copies) for table in tables])
    texts = ["", *(f"{period},{count}" for period, count in kinds.tolist())]
    used = ["", *(",".join(map(_one_decimal, row)) for row in values.tolist())]
    numbers = np.zeros(len(calls), dtype=np.int64)
    numbers[rows] = 1 + of_rows.reshape(-1)
    return DragstrTexts(*(Ragged.from_sequences(part).take(numbers) for part in (texts, used)))


def _have_indel(calls: VariantCalls) -> NDArray[np.bool_]:
    """Return bool[v]: records with an ALT of another length than REF, but `*` and symbolic ones."""
    counts = lengths_of(calls.allele_offsets)
    references = np.repeat(calls.alleles.lengths[calls.allele_offsets[:-1]], counts)
    is_indel = (calls.alleles.lengths != references) & ~is_symbolic(calls.alleles)
    found: NDArray[np.bool_] = np.logical_or.reduceat(is_indel, calls.allele_offsets[:-1])
    return found


def _one_decimal(value: float) -> str:
    """Return a value of a file, of at most two decimals, with one; halves are rounded up."""
    return f"{np.floor(round(value * 100.0) / 10.0 + 0.5) / 10.0:.1f}"
