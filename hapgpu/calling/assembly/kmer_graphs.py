"""K-mer graphs of a reference and reads: threading and clean-up, as GATK's ReadThreadingGraph."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.dangling_heads import dangling_heads, recover_heads
from hapgpu.calling.assembly.dangling_tails import count_tails, recover_tails
from hapgpu.calling.assembly.graph import (
    Graph,
    add_vertex,
    append_edge,
    clear,
    graph_with_room,
    has_cycle,
    keep_between,
    last_base,
)
from hapgpu.calling.assembly.kmers import (
    AssemblyData,
    GraphRules,
    KmerSpace,
    RegionRows,
    cleared_space,
    forget_repeats,
    kmers_with_vertex,
    non_unique_kmers,
    number_kmers,
)
from hapgpu.calling.assembly.pruning import (
    prune_chains,
    remove_edges_out,
    remove_lone_vertices,
    remove_rare_edges,
    unrolled,
)
from hapgpu.runtime.jit import njit, njit_inlined

_N = ord("N")

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


@njit
def load_bases(graph: Graph, data: AssemblyData, region: RegionRows) -> None:
    """Write the reference and then the reads, one after the other, to the text of a new graph."""
    at = 0
    for offset in range(region.reference_start, region.reference_end):
        graph.text[at] = data.reference[offset]
        at += 1
    for offset in range(data.bases.offsets[region.first_read], data.bases.offsets[region.end_read]):
        graph.text[at] = data.bases.data[offset]
        at += 1
    graph.counts[2] = at


@njit_inlined
def _to_text(reads: AssemblyData, region: RegionRows) -> Integer:
    """Return what to add to the offset of a base of a read for its offset in the text."""
    length = region.reference_end - region.reference_start
    return np.int64(length - reads.bases.offsets[region.first_read])


@njit
def number_read_kmers(
    space: KmerSpace, graph: Graph, reads: AssemblyData, region: RegionRows, rules: GraphRules
) -> None:
    """Give numbers to the k-mers of the reads, and mark those that a read has twice.

    GATK looks for repeated k-mers from the first base of a read to the end of each of its runs of
    good bases: to the end of the last run, then.
    """
    k, min_base_quality, first = rules.k, rules.min_base_quality, region.first_read
    shift = _to_text(reads, region)
    for read in range(first, region.end_read):
        start = reads.bases.offsets[read]
        run = start
        last_end = start
        while run < reads.bases.offsets[read + 1]:
            run_end = _run_end(reads, read, run, min_base_quality)
            if run_end - run >= k:
                last_end = run_end
            run = run_end + 1
        number_kmers(space, graph.text, start + shift, last_end + shift, k, read - first + 1)


@njit
def thread_reads(
    graph: Graph, space: KmerSpace, reads: AssemblyData, region: RegionRows, rules: GraphRules
) -> None:
    """Thread reads, sample by sample in the order of the first read that is long enough."""
    k, first, end = rules.k, region.first_read, region.end_read
    samples = 0
    for read in range(first, end):
        samples = max(samples, reads.samples[read] + 1)
    is_done = np.zeros(samples, np.bool_)
    shift = _to_text(reads, region)
    for leader in range(first, end):
        sample = reads.samples[leader]
        if is_done[sample]:
            continue
        for read in range(leader, end):
            if reads.samples[read] != sample:
                continue
            run = reads.bases.offsets[read]
            while run < reads.bases.offsets[read + 1]:
                run_end = _run_end(reads, read, run, rules.min_base_quality)
                if run_end - run >= k:
                    is_done[sample] = True
                    _thread_run(graph, space, run + shift, run_end + shift, k)
                run = run_end + 1
            if not is_done[sample]:
                break
        if is_done[sample]:
            flush_sample(graph, space)


@njit_inlined
def _run_end(reads: AssemblyData, read: Integer, start: Integer, min_quality: Integer) -> Integer:
    """Return the end of the run of good bases at an offset of the bases; its start if none."""
    end = reads.bases.offsets[read + 1]
    to_quality = reads.qualities.offsets[read] - reads.bases.offsets[read]
    at = start
    while (
        at < end
        and reads.bases.data[at] != _N
        and reads.qualities.data[at + to_quality] >= min_quality
    ):
        at += 1
    return at


@njit
def thread_reference(graph: Graph, space: KmerSpace, length: Integer, k: Integer) -> Integer:
    """Thread text[:length], the reference, through an empty graph; return its last vertex.

    Its first vertex is 0.
    """
    vertex: Integer = _new_vertex(graph, space, 0, k)
    for at in range(1, length - k + 1):
        edge = _edge_with_base(graph, vertex, graph.text[at + k - 1])
        if edge >= 0:
            _count(graph, space, edge)
            vertex = np.int64(graph.edges[edge].target)
            continue
        target: Integer = np.int64(space.entries[space.kmers[at]].vertex)
        if target < 0:
            target = _new_vertex(graph, space, at, k)
        edge = append_edge(graph, vertex, target, 1)
        graph.edges[edge].is_reference = True
        space.sample_counts[edge] = 1
        vertex = target
    flush_sample(graph, space)
    return vertex


@njit
def _thread_run(graph: Graph, space: KmerSpace, start: Integer, end: Integer, k: Integer) -> None:
    """Thread text[start:end] of a read, of at least k bases, from its first unique k-mer on.

    As in GATK, its last k-mer does not count as a start.
    """
    first = start
    while first < end - k and space.entries[space.kmers[first]].is_non_unique:
        first += 1
    if first >= end - k:
        return
    vertex: Integer = np.int64(space.entries[space.kmers[first]].vertex)
    if vertex < 0:
        vertex = _new_vertex(graph, space, first, k)
    _count_backwards(graph, space, vertex, first, k)
    source_kmer = space.vertex_kmers[0]
    for at in range(first + 1, end - k + 1):
        edge = _edge_with_base(graph, vertex, graph.text[at + k - 1])
        if edge >= 0:
            _count(graph, space, edge)
            vertex = np.int64(graph.edges[edge].target)
            continue
        kmer = space.kmers[at]
        target: Integer = (
            np.int64(-1) if kmer == source_kmer else np.int64(space.entries[kmer].vertex)
        )
        if target < 0:
            target = _new_vertex(graph, space, at, k)
        edge = append_edge(graph, vertex, target, 1)
        space.sample_counts[edge] = 1
        vertex = target


@njit_inlined
def _edge_with_base(graph: Graph, vertex: Integer, base: Integer) -> Integer:
    """Return the first edge from a vertex to one that ends in a base; -1 if there is none."""
    edge = np.int64(graph.vertices[vertex].first_out)
    while edge >= 0 and last_base(graph, graph.edges[edge].target) != base:
        edge = np.int64(graph.edges[edge].next_out)
    return edge


@njit_inlined
def _count(graph: Graph, space: KmerSpace, edge: Integer) -> None:
    graph.edges[edge].multiplicity += 1
    space.sample_counts[edge] += 1


@njit_inlined
def _count_backwards(
    graph: Graph, space: KmerSpace, vertex: Integer, start: Integer, k: Integer
) -> None:
    """Count the edges that lead to the k-mer at `start`, while they are the only ones."""
    offset = start + k - 2
    while offset >= start and graph.vertices[vertex].in_degree == 1:
        edge = graph.vertices[vertex].first_in
        vertex = np.int64(graph.edges[edge].source)
        if last_base(graph, vertex) != graph.text[offset]:
            return
        _count(graph, space, edge)
        offset -= 1


@njit_inlined
def _new_vertex(graph: Graph, space: KmerSpace, at: Integer, k: Integer) -> Integer:
    """Add a vertex for the k-mer at an offset; map the k-mer to it if unique and not yet mapped."""
    kmer = space.kmers[at]
    vertex = add_vertex(graph, at, at + k)
    space.vertex_kmers[vertex] = kmer
    # Without branches: with them, Numba would count references to all arrays, at a higher cost.
    is_mapped = np.int64(space.entries[kmer].vertex < 0) & np.int64(
        not space.entries[kmer].is_non_unique
    )
    space.entries[kmer].vertex += is_mapped * (vertex + 1)
    space.counts[2] += is_mapped
    return vertex


@njit
def flush_sample(graph: Graph, space: KmerSpace) -> None:
    """Take the counts of a sample into the pruning multiplicities, and begin the next one."""
    for edge in range(graph.counts[1]):
        count = space.sample_counts[edge]
        graph.edges[edge].pruning_multiplicity = max(graph.edges[edge].pruning_multiplicity, count)
        space.sample_counts[edge] = 0
