"""Lines of PAF or SAM for the aligned mappings of a block of reads."""

from __future__ import annotations

from functools import partial

from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.align.batches import TargetCodes
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import LineOptions, MappingOptions
from hapgpu.longread.output.aligned_paf import paf_form
from hapgpu.longread.output.cigars import split_matches
from hapgpu.longread.output.parts import PART_BYTES, LinePart, first_part
from hapgpu.longread.output.rows import AlignedBlock, LineRows, LineTargets
from hapgpu.longread.output.sam import sam_form


class AlignmentWriter:
    """Writer of the aligned mappings of reads as lines of PAF or SAM, on the host.

    Parameters
    ----------
    index
        Index of the reference.
    targets
        Bases of the reference.
    options, line_options
        Options of the user.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        targets: TargetCodes,
        options: MappingOptions,
        line_options: LineOptions,
    ) -> None:
        self._targets = LineTargets.of(index.names, targets.lengths, targets)
        self._form = (sam_form if line_options.is_sam else paf_form)(options, line_options)
        self._line_options = line_options

    def __call__(self, reads: AlignedBlock, anchors: int, most: int = PART_BYTES) -> LinePart:
        """Return the function that writes the first lines of a block.

        Parameters
        ----------
        reads
            The reads with their mappings.
        anchors
            Number of anchors of the reads, for the statistics.
        most
            Most bytes of a part of several lines.
        """
        options = self._line_options
        rows = line_rows(
            reads,
            self._targets,
            has_comments=options.copies_comments,
            splits_matches=options.splits_matches,
        )
        return first_part(partial(self._form, rows), reads.spans.lengths, anchors, most)


def line_rows(
    reads: AlignedBlock, targets: LineTargets, *, has_comments: bool, splits_matches: bool
) -> LineRows:
    """Return the rows of lines.

    Parameters
    ----------
    reads
        The reads with their mappings.
    targets
        Reference sequences, with their codes.
    has_comments
        Whether the rows of reads have their comments.
    splits_matches
        Whether CIGARs have = and X, not M.
    """
    aligned = reads.aligned
    rows = LineRows(
        read_only(aligned.mappings),
        read_only(aligned.operations),
        read_only(aligned.offsets),
        reads.rows(has_comments=has_comments),
        targets.rows,
        read_only(reads.text),
        targets.names,
        read_only(reads.codes.codes),
        targets.codes,
    )
    return split_matches(rows) if splits_matches else rows
