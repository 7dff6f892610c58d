"""Chaining stage by stage, compiled and by the reference implementation."""

from __future__ import annotations

import tempfile
from functools import cached_property
from pathlib import Path

import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.fastx.block_workers import BlockWorker
from hapgpu.io.fastx.read_block import ReadBlock, TextBlock
from hapgpu.longread.batches import Anchors, Chains, ChainScores, Mappings, Minimizers, Seeds
from hapgpu.longread.chain.chains import trace_chains
from hapgpu.longread.chain.join import join_chains
from hapgpu.longread.chain.scores import chain_scores
from hapgpu.longread.index.build import build_index, repeat_cutoff
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.index.sketch import sketch
from hapgpu.longread.mappings.mappings import make_mappings, name_hashes
from hapgpu.longread.parameters import chain_parameters
from hapgpu.longread.seed.anchors import expand_anchors
from hapgpu.longread.seed.seeds import find_seeds
from hapgpu.runtime.pipeline import results_of
from tests.longread.anchors import reference as plain_anchors
from tests.longread.chains import reference as plain_chains
from tests.longread.index.reference import Index, cutoff_of, index_of
from tests.longread.join import reference as plain_join
from tests.longread.made_cases import Case, fasta_of
from tests.longread.mappings.reference import Mapping
from tests.longread.run import reference as plain_paf
from tests.longread.scores import reference as plain_scores
from tests.longread.seeds import reference as plain_seeds
from tests.longread.sketch.reference import Minimizer, minimizers_of


class Compiled:
    """The compiled stages on the CPU, each for all reads."""

    def __init__(self, case: Case) -> None:
        self.case, self.options = case, case.options
        rows = Ragged.from_sequences([sequence for _, sequence in case.reads])
        self.text = rows.data
        self.starts = rows.offsets[:-1].astype(np.int32)
        self.lengths = rows.lengths.astype(np.int32)

    @cached_property
    def index(self) -> MinimizerIndex:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "reference.fa")
            path.write_bytes(fasta_of(self.case.reference))
            return build_index(path, self.options.sketch, threads=1)

    @cached_property
    def cutoff(self) -> int:
        return repeat_cutoff(self.index, self.options.seeds)

    @cached_property
    def minimizers(self) -> Minimizers:
        return sketch(self.text, self.starts, self.lengths, self.options.sketch)

    @cached_property
    def seeds(self) -> Seeds:
        return find_seeds(
            self.index, self.minimizers, self.lengths, self.cutoff, self.options.seeds
        )

    @cached_property
    def anchors(self) -> Anchors:
        return expand_anchors(self.index, self.seeds, self.lengths)

    @cached_property
    def scores(self) -> ChainScores:
        return chain_scores(
            self.anchors, chain_parameters(self.options.chains, self.options.sketch.k)
        )

    @cached_property
    def chains(self) -> Chains:
        parameters = chain_parameters(self.options.chains, self.options.sketch.k)
        return trace_chains(self.anchors, self.scores, parameters)

    @cached_property
    def joined(self) -> Chains:
        parameters = self.case.join_parameters
        return (
            self.chains
            if parameters is None
            else join_chains(self.chains, self.lengths, parameters)
        )

    @cached_property
    def mappings(self) -> Mappings:
        names = Ragged.from_sequences([name.encode() for name, _ in self.case.reads])
        hashes = name_hashes(
            names.data,
            names.offsets[:-1].astype(np.int32),
            names.lengths.astype(np.int32),
            self.lengths,
            self.options.mappings.uses_names,
        )
        return make_mappings(
            self.joined,
            self.seeds,
            self.lengths,
            hashes,
            self.index,
            self.options.chains,
            self.options.mappings,
        )


class Plain:
    """The stages of the reference implementation, each a list with one item per read."""

    def __init__(self, case: Case) -> None:
        self.case, self.options = case, case.options
        self.lengths = [len(sequence) for _, sequence in case.reads]

    @cached_property
    def index(self) -> Index:
        return index_of(self.case.reference, self.options.sketch)

    @cached_property
    def cutoff(self) -> int:
        return cutoff_of(self.index, self.options.seeds)

    @cached_property
    def minimizers(self) -> list[list[Minimizer]]:
        return [minimizers_of(sequence, self.options.sketch) for _, sequence in self.case.reads]

    @cached_property
    def seeds(self) -> list[plain_seeds.ReadSeeds]:
        return [
            plain_seeds.seeds_of(minimizers, length, self.index, self.cutoff, self.options.seeds)
            for minimizers, length in zip(self.minimizers, self.lengths, strict=True)
        ]

    @cached_property
    def anchors(self) -> list[list[plain_anchors.Anchor]]:
        return [
            plain_anchors.anchors_of(seeds.kept, length)
            for seeds, length in zip(self.seeds, self.lengths, strict=True)
        ]

    @cached_property
    def scores(self) -> list[plain_scores.Scores]:
        k = self.options.sketch.k
        parameters = chain_parameters(self.options.chains, k)
        return [plain_scores.chain_scores(anchors, parameters, k) for anchors in self.anchors]

    @cached_property
    def chains(self) -> list[list[plain_chains.Chain]]:
        parameters = chain_parameters(self.options.chains, self.options.sketch.k)
        pairs = zip(self.anchors, self.scores, strict=True)
        return [plain_chains.chains_of(anchors, scores, parameters) for anchors, scores in pairs]

    @cached_property
    def joined(self) -> list[list[plain_chains.Chain]]:
        parameters = self.case.join_parameters
        if parameters is None:
            return self.chains
        return [
            plain_join.joined(chains, length, parameters, self.options.sketch.k)
            for chains, length in zip(self.chains, self.lengths, strict=True)
        ]

    @cached_property
    def mappings(self) -> list[list[Mapping]]:
        return [
            plain_paf.read_mappings(name, length, chains, seeds, self.index, self.options)
            for (name, _), length, chains, seeds in zip(
                self.case.reads, self.lengths, self.joined, self.seeds, strict=True
            )
        ]


def parts_of(worker: BlockWorker, batch: object) -> list[TextBlock]:
    """Compute a block, or a part of one, with all the parts into which the worker divides it."""
    return list(results_of(worker, batch))


def computed(worker: BlockWorker, block: ReadBlock) -> TextBlock:
    """Compute a block, and join its parts."""
    return TextBlock.joined(parts_of(worker, block))
