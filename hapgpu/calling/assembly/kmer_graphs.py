"""K-mer graphs of a reference and reads: threading and clean-up, as GATK's ReadThreadingGraph."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.memory import memory_of, read_64, read_u8
from hapgpu.calling.assembly.dangling_heads import dangling_heads, recover_heads
from hapgpu.calling.assembly.dangling_tails import count_tails, recover_tails
from hapgpu.calling.assembly.graph import (
    VERTICES,
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
    equal_length,
    forget_repeats,
    kmers_with_vertex,
    non_unique_kmers,
    number_kmers,
    number_kmers_beside,
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

# Of the eight bytes of a word.
_NO_BITS: Final = np.uint64(0)
_ONES: Final = np.uint64(0x0101010101010101)
_HIGH_BITS: Final = np.uint64(0x8080808080808080)
_ALL_N: Final = _ONES * np.uint64(_N)

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
    if rules.recovers_all and not rules.is_unrolled and has_cycle(graph):
        return KmerGraph(FAILED, graph, space, 0, sink)
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
    length = region.reference_end - region.reference_start
    copy_bytes(data.reference, region.reference_start, graph.text, 0, length)
    start, end = data.bases.offsets[region.first_read], data.bases.offsets[region.end_read]
    copy_bytes(data.bases.data, start, graph.text, length, end - start)
    graph.counts[2] = length + end - start


@njit_inlined
def _to_text(reads: AssemblyData, region: RegionRows) -> Integer:
    """Return what to add to the offset of a base of a read for its offset in the text."""
    length = region.reference_end - region.reference_start
    return np.int64(length - reads.bases.offsets[region.first_read])


@njit
def number_read_kmers(
    space: KmerSpace, graph: Graph, reads: AssemblyData, region: RegionRows, rules: GraphRules
) -> None:
    """Find the runs of good bases of the reads, number their k-mers, and mark repeated ones.

    GATK looks for k-mers that a read has twice from its first base to the end of each of its runs
    of good bases: to the end of the last run, then.
    """
    k, first = rules.k, region.first_read
    references = region.reference_end - region.reference_start - k + 1
    is_plain = space.counts[0] < references
    shift = _to_text(reads, region)
    runs: Integer = np.int64(0)
    for read in range(first, region.end_read):
        space.run_starts[read - first] = runs
        runs = _add_runs(space, reads, read, rules, shift, runs)
        start = reads.bases.offsets[read] + shift
        end = np.int64(space.runs[runs - 1]) if runs > space.run_starts[read - first] else start
        if is_plain:
            number_kmers(space, graph.text, start, end, k, read - first + 1)
        else:
            number_kmers_beside(space, graph.text, start, end, k, read - first + 1, references)
    space.run_starts[region.end_read - first] = runs


@njit
def _add_runs(
    space: KmerSpace,
    reads: AssemblyData,
    read: Integer,
    rules: GraphRules,
    shift: Integer,
    runs: Integer,
) -> Integer:
    """Write the runs of a read, of at least k bases, to `space.runs`; return their end there."""
    bases, qualities = memory_of(reads.bases.data), memory_of(reads.qualities.data)
    end = reads.bases.offsets[read + 1]
    to_quality = reads.qualities.offsets[read] - reads.bases.offsets[read]
    lowest = _ONES * np.uint64(min(rules.min_base_quality, 128))
    run = reads.bases.offsets[read]
    while run < end:
        run_end = run
        while run_end + 8 <= end and _are_good(
            read_64(bases, run_end), read_64(qualities, run_end + to_quality), lowest
        ):
            run_end += 8
        while (
            run_end < end
            and read_u8(bases, run_end) != _N
            and read_u8(qualities, run_end + to_quality) >= rules.min_base_quality
        ):
            run_end += 1
        if run_end - run >= rules.k:
            space.runs[runs] = run + shift
            space.runs[runs + 1] = run_end + shift
            runs += 2
        run = run_end + 1
    return runs


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
    backbone = _backbone(graph, region, k)
    for vertex in range(backbone + 1):
        space.reference_steps[vertex] = 0
    for leader in range(first, end):
        sample = reads.samples[leader]
        if is_done[sample]:
            continue
        for read in range(leader, end):
            if reads.samples[read] != sample:
                continue
            for run in range(space.run_starts[read - first], space.run_starts[read - first + 1], 2):
                is_done[sample] = True
                start, run_end = np.int64(space.runs[run]), np.int64(space.runs[run + 1])
                _thread_run(graph, space, start, run_end, k, backbone)
            if not is_done[sample]:
                break
        if is_done[sample]:
            _flush_reference(graph, space, backbone)
            flush_sample(graph, space)


@njit_inlined
def _backbone(graph: Graph, region: RegionRows, k: Integer) -> Integer:
    """Return the edges of the reference, which is threaded; 0 if it has a vertex twice.

    Else edge i leads from vertex i to vertex i + 1, and is the first edge out of it.
    """
    edges = np.int64(region.reference_end - region.reference_start - k)
    return edges if graph.counts[VERTICES] == edges + 1 else np.int64(0)


@njit
def _flush_reference(graph: Graph, space: KmerSpace, backbone: Integer) -> None:
    """Count the edges of the reference for the reads of a sample."""
    reads = np.int32(0)
    for edge in range(backbone):
        reads += space.reference_steps[edge]
        space.reference_steps[edge] = 0
        graph.edges[edge].multiplicity += reads
        space.sample_counts[edge] += reads
    space.reference_steps[backbone] = 0


@njit_inlined
def _are_good(bases: Integer, qualities: Integer, lowest: Integer) -> bool:
    """Tell of eight bases whether none is N, and no quality is below that in each byte of `lowest`.

    That is at most 128. The answer may be False for qualities above 127, too.
    """
    differences = np.uint64(bases) ^ _ALL_N
    has_n = (differences - _ONES) & ~differences & _HIGH_BITS
    are_high = ((np.uint64(qualities) | _HIGH_BITS) - lowest) & _HIGH_BITS
    return bool(has_n | (are_high ^ _HIGH_BITS) == _NO_BITS)


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
def _thread_run(
    graph: Graph, space: KmerSpace, start: Integer, end: Integer, k: Integer, backbone: Integer
) -> None:
    """Thread text[start:end] of a read, of at least k bases, from its first unique k-mer on.

    As in GATK, its last k-mer does not count as a start. Bases that go on along the reference, of
    `backbone` edges, are compared at once: the first edge out of its vertices is its own.
    """
    first = start
    while first < end - k and space.entries[space.kmers[first]].is_non_unique:
        first += 1
    if first >= end - k:
        return
    vertex: Integer = np.int64(space.entries[space.kmers[first]].vertex)
    if vertex < 0:
        vertex = _new_vertex(graph, space, first, k)
    _count_backwards(graph, space, vertex, first, k, backbone)
    source_kmer = space.vertex_kmers[0]
    text = memory_of(graph.text)
    at = np.int64(first + 1)
    while at <= end - k:
        if vertex < backbone:
            room = min(end - k + 1 - at, backbone - vertex)
            steps = equal_length(text, at + k - 1, vertex + k, room)
            space.reference_steps[vertex] += 1
            vertex += steps
            space.reference_steps[vertex] -= 1
            at += steps
            if steps == room:
                continue
        edge = _edge_with_base(graph, vertex, graph.text[at + k - 1])
        if edge >= 0:
            _count(graph, space, edge)
            vertex = np.int64(graph.edges[edge].target)
            at += 1
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
        at += 1


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
    graph: Graph, space: KmerSpace, vertex: Integer, start: Integer, k: Integer, backbone: Integer
) -> None:
    """Count the edges that lead to the k-mer at `start`, while they are the only ones.

    `backbone` is the number of edges of the reference.
    """
    before = _first_joined(graph, vertex, k, backbone)
    # Without branches, also off the reference: see `_new_vertex`.
    space.reference_steps[min(before, backbone)] += 1
    space.reference_steps[min(vertex, backbone)] -= 1
    offset = start + k - 2 - (vertex - before)
    vertex = before
    while offset >= start and graph.vertices[vertex].in_degree == 1:
        edge = graph.vertices[vertex].first_in
        vertex = np.int64(graph.edges[edge].source)
        if last_base(graph, vertex) != graph.text[offset]:
            return
        if edge < backbone:
            space.reference_steps[edge] += 1
            space.reference_steps[edge + 1] -= 1
        else:
            _count(graph, space, edge)
        offset -= 1


@njit
def _first_joined(graph: Graph, vertex: Integer, k: Integer, backbone: Integer) -> Integer:
    """Go back along the reference to where edges meet, fewer than k; return the vertex.

    The bases before a vertex are those of its k-mer: they need no comparison. A vertex that is not
    on the reference is returned.
    """
    lowest = max(vertex - k + 1, 0) if vertex <= backbone else vertex
    while vertex > lowest and graph.vertices[vertex].in_degree == 1:
        vertex -= 1
    return vertex


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
