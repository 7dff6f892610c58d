"""The k-mer graph of an active region, as GATK's ReadThreadingAssembler makes it."""

from __future__ import annotations

from typing import Final, NamedTuple

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import Graph, clear, graph_with_room
from hapgpu.calling.assembly.kmer_graphs.dangling_heads import dangling_heads, recover_heads
from hapgpu.calling.assembly.kmer_graphs.dangling_tails import count_tails, recover_tails
from hapgpu.calling.assembly.kmer_graphs.inputs import AssemblyData, GraphRules, RegionRows
from hapgpu.calling.assembly.kmer_graphs.kmers import number_kmers
from hapgpu.calling.assembly.kmer_graphs.pruning import (
    prune_chains,
    remove_edges_out,
    remove_lone_vertices,
    remove_rare_edges,
)
from hapgpu.calling.assembly.kmer_graphs.reachability import has_cycle, keep_between
from hapgpu.calling.assembly.kmer_graphs.space import (
    KmerSpace,
    cleared_space,
    forget_repeats,
    kmers_with_vertex,
    non_unique_kmers,
)
from hapgpu.calling.assembly.kmer_graphs.threading import (
    load_bases,
    number_read_kmers,
    thread_reads,
    thread_reference,
)
from hapgpu.calling.assembly.kmer_graphs.unrolling import unrolled
from hapgpu.runtime.jit import njit

READY: Final = 0
"""Status: the graph has what lies between the ends of the reference."""
FAILED: Final = 1
"""Status: this k gives no result; a larger one may."""
SHORT: Final = 2
"""Status: the reference has no two k-mers. In GATK this is a result, without haplotypes."""
CYCLIC: Final = 3
"""Status: as `FAILED`, for a cycle."""


class KmerGraph(NamedTuple):
    """A k-mer graph with its status, and with the memory for the next one.

    `source` and `sink` are the vertices of the first and last k-mer of the reference.
    """

    status: int
    graph: Graph
    space: KmerSpace
    source: Integer
    sink: Integer


@njit
def build_kmer_graph(
    graph: Graph, space: KmerSpace, data: AssemblyData, region: RegionRows, rules: GraphRules
) -> KmerGraph:
    """Build the k-mer graph of an active region.

    Sequences are threaded; chains with low support are pruned; dangling ends are joined to the
    reference; the rest is cut to what lies between its ends. By GATK's rules, a graph with a cycle,
    or with many k-mers that a read has twice, fails; else cycles are unrolled.

    `graph` and `space` are memory, cleared here, and replaced by larger if needed: use those of the
    result from now on.
    """
    k = rules.k
    length = region.reference_end - region.reference_start
    if length <= k:
        return KmerGraph(SHORT, graph, space, 0, 0)
    starts = data.bases.offsets
    text = length + starts[region.end_read] - starts[region.first_read]
    clear(graph)
    graph = graph_with_room(graph, text, text, text)
    space = cleared_space(space, text)
    load_bases(graph, data, region)
    number_kmers(space, graph.text, 0, length, k, 0)
    if not rules.is_last_try and non_unique_kmers(space) > 0:
        return KmerGraph(FAILED, graph, space, 0, 0)
    number_read_kmers(space, graph, data, region, rules)
    if rules.is_unrolled and not rules.is_last_try:
        forget_repeats(space)
    sink = thread_reference(graph, space, length, k)
    thread_reads(graph, space, data, region, rules)
    prune_chains(graph, rules.min_pruning)
    remove_lone_vertices(graph, space)
    if rules.is_unrolled:
        remove_rare_edges(graph)
    else:
        if has_cycle(graph):
            return KmerGraph(CYCLIC, graph, space, 0, sink)
        if not rules.is_last_try and 4 * non_unique_kmers(space) > kmers_with_vertex(space):
            return KmerGraph(FAILED, graph, space, 0, sink)
    graph = with_recovered_ends(graph, sink, rules)
    if rules.is_unrolled:
        remove_edges_out(graph, sink)
    keep_between(graph, 0, sink)
    if rules.is_unrolled:
        graph = unrolled(graph, 0)
    return KmerGraph(READY, graph, space, 0, sink)


@njit
def with_recovered_ends(graph: Graph, sink: Integer, rules: GraphRules) -> Graph:
    """Join dangling tails, then heads, to the reference; return the graph, or a larger copy.

    The source of the reference is vertex 0.
    """
    graph = graph_with_room(graph, 0, count_tails(graph, sink), 0)
    recover_tails(graph, 0, sink, rules)
    heads = dangling_heads(graph, 0)
    room = heads.size * rules.k
    graph = graph_with_room(graph, room, room + heads.size, 2 * room)
    recover_heads(graph, heads, sink, rules)
    return graph
