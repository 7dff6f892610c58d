"""Sequence graphs of k-mer graphs, and their chains zipped to single vertices."""

from __future__ import annotations

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import (
    EDGES,
    TEXT,
    VERTICES,
    Graph,
    add_vertex,
    append_edge,
    append_text,
    clear,
    graph_with_room,
    remove_vertex,
)
from hapgpu.calling.assembly.sequence_graph.edits import (
    copy_in_edges,
    copy_out_edges,
    is_on_reference,
    length_of,
)
from hapgpu.runtime.jit import njit, njit_inlined


@njit
def sequence_graph_of(kmers: Graph, graph: Graph) -> Graph:
    """Write the sequence graph of a k-mer graph to `graph`; return it, or a larger copy.

    A vertex without edges into it gives its k-mer, any other its last base.
    """
    clear(graph)
    vertices = kmers.counts[VERTICES]
    graph = graph_with_room(graph, vertices, kmers.counts[EDGES], _text_of(kmers))
    numbers = np.empty(vertices, dtype=np.int64)
    for vertex in range(vertices):
        if kmers.is_vertex[vertex]:
            start, end = _range_of(kmers, vertex), kmers.text_ends[vertex]
            start = append_text(graph, kmers.text, start, end)
            numbers[vertex] = add_vertex(graph, start, graph.counts[TEXT])
    for edge in range(kmers.counts[EDGES]):
        if kmers.is_edge[edge]:
            source, target = numbers[kmers.sources[edge]], numbers[kmers.targets[edge]]
            new = append_edge(graph, source, target, kmers.multiplicities[edge])
            graph.is_reference[new] = kmers.is_reference[edge]
    return graph


@njit_inlined
def _range_of(kmers: Graph, vertex: Integer) -> Integer:
    start: Integer = kmers.text_ends[vertex] - 1
    if kmers.in_degrees[vertex] == 0:
        start = kmers.text_starts[vertex]
    return start


@njit
def _text_of(kmers: Graph) -> int:
    total = 0
    for vertex in range(kmers.counts[VERTICES]):
        if kmers.is_vertex[vertex]:
            total += kmers.text_ends[vertex] - _range_of(kmers, vertex)
    return total


@njit
def zip_chains(graph: Graph) -> tuple[Graph, bool]:
    """Replace each chain by one vertex; return the graph, and whether there was a chain.

    A chain has no other edges inside, and is either all on the reference or all off it.
    """
    is_changed = False
    for vertex in range(graph.counts[VERTICES]):
        if not (graph.is_vertex[vertex] and _starts_chain(graph, vertex)):
            continue
        count, text = _measure_chain(graph, vertex)
        if count > 1:
            edges = graph.in_degrees[vertex] + graph.out_degrees[_last_of(graph, vertex, count)]
            graph = graph_with_room(graph, 1, edges + 1, text)
            _zip(graph, vertex, count)
            is_changed = True
    return graph, is_changed


@njit
def _starts_chain(graph: Graph, vertex: Integer) -> bool:
    if graph.out_degrees[vertex] != 1:
        return False
    if graph.in_degrees[vertex] != 1:
        return True
    before = graph.sources[graph.first_in[vertex]]
    return bool(graph.out_degrees[before] > 1)


@njit_inlined
def _next_of(graph: Graph, vertex: Integer) -> Integer:
    target: Integer = graph.targets[graph.first_out[vertex]]
    return target


@njit
def _measure_chain(graph: Graph, vertex: Integer) -> tuple[Integer, Integer]:
    """Return the number of vertices of the chain from a vertex, and of their bases."""
    count, text = 1, length_of(graph, vertex)
    of_first = is_on_reference(graph, vertex)
    while graph.out_degrees[vertex] == 1:
        target = _next_of(graph, vertex)
        if graph.in_degrees[target] != 1 or target == vertex:
            break
        if is_on_reference(graph, target) != of_first:
            break
        count += 1
        text += length_of(graph, target)
        vertex = target
    return count, text


@njit
def _last_of(graph: Graph, vertex: Integer, count: int) -> Integer:
    for _ in range(count - 1):
        vertex = _next_of(graph, vertex)
    return vertex


@njit
def _zip(graph: Graph, first: Integer, count: int) -> None:
    start, last = graph.counts[TEXT], first
    for k in range(count):
        if k > 0:
            last = _next_of(graph, last)
        append_text(graph, graph.text, graph.text_starts[last], graph.text_ends[last])
    new = add_vertex(graph, start, graph.counts[TEXT])
    copy_out_edges(graph, last, new)
    copy_in_edges(graph, first, new)
    vertex = first
    for _ in range(count - 1):
        after = _next_of(graph, vertex)
        remove_vertex(graph, vertex)
        vertex = after
    remove_vertex(graph, last)
