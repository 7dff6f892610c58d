"""`hapgpu chain --anchors`: chains and statistics of ready-made anchors."""

from __future__ import annotations

from dataclasses import asdict
from io import BytesIO
from pathlib import Path

import numpy as np

from hapgpu.chaining.anchors.files import load_anchors
from hapgpu.chaining.anchors.predecessor_ranges import range_statistics
from hapgpu.chaining.api import chain_anchors
from hapgpu.chaining.batches import Anchors
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.parameters import chain_parameters
from hapgpu.chaining.run.anchor_chains import AnchorChains
from hapgpu.cli.run import Run
from hapgpu.io.files.output import OutputFile

_READ, _CHAINED, _COUNTED = 0.5, 0.75, 0.93
"""Fraction of the time at the end of each phase: 20 million anchors on four cores."""


def chain_anchor_file(
    path: Path,
    output: OutputFile,
    options: MapOptions,
    run: Run,
    max_record: int,
) -> None:
    """Chain the anchors of a file, and write their scores and chains as arrays of NumPy.

    Parameters
    ----------
    path
        A .npz file that `load_anchors` reads.
    output
        Becomes a .npz file: `f` and `p` are the columns of `ChainScores`, `chain_…` those of
        `Chains`.
    options
        Only the options on chains and the length of k-mers apply.
    run
        Its first device computes; receives the counts, the predecessor ranges, and progress.
    max_record
        See `load_anchors`.
    """
    statistics = run.statistics
    parameters = chain_parameters(options.chains, options.sketch.k)

    def chain(anchors: Anchors) -> AnchorChains:
        return chain_anchors(anchors, parameters, run.devices[0])

    def load(path: Path) -> Anchors:
        return load_anchors(path, max_record)

    with run.showing("anchors") as progress:
        progress.phase("reading", _READ)
        anchors = statistics.timed("read", load)(path)
        progress.phase("chaining", _CHAINED, anchors.x.size)
        result = statistics.timed("chain", chain)(anchors)
        statistics.count("reads", len(anchors))
        statistics.count("anchors", anchors.x.size)
        statistics.count("chains", result.chains.scores.size)
        progress.phase("counting predecessors", _COUNTED)
        statistics.describe("predecessor_ranges", asdict(range_statistics(anchors, parameters)))
        progress.phase("writing", 1.0)
        output.write(_as_npz(result))


def _as_npz(result: AnchorChains) -> memoryview:
    chains = result.chains
    file = BytesIO()
    np.savez(
        file,
        f=result.scores,
        p=result.predecessors,
        chain_x=chains.x,
        chain_y=chains.y,
        chain_anchor_offsets=chains.anchor_offsets,
        chain_scores=chains.scores,
        chain_offsets=chains.offsets,
    )
    return file.getbuffer()
