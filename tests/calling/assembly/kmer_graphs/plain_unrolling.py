"""Walks of graphs with cycles, by enumeration in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """An edge to a vertex."""

    target: int
    is_reference: bool


Steps = Mapping[int, Sequence[Step]]
"""Edges out of each vertex, in the order in which they were added."""


def back_edges(steps: Steps, source: int) -> set[tuple[int, int]]:
    """Return the edges to a vertex on the path to their start, depth first, the reference first."""
    found: set[tuple[int, int]] = set()
    done: set[int] = set()

    def visit(vertex: int, path: tuple[int, ...]) -> None:
        for step in sorted(steps[vertex], key=lambda step: not step.is_reference):
            if step.target in path:
                found.add((vertex, step.target))
            elif step.target not in done:
                visit(step.target, (*path, step.target))
        done.add(vertex)

    visit(source, (source,))
    return found


def walks(steps: Steps, source: int, sink: int, limit: int) -> list[tuple[int, ...]] | None:
    """Return all walks that use at most one edge that leads back; None if above the limit."""
    backs = back_edges(steps, source)
    found, open_walks = [], [((source,), False)]
    while open_walks:
        walk, is_back = open_walks.pop()
        if walk[-1] == sink:
            found.append(walk)
        for step in steps[walk[-1]]:
            leads_back = (walk[-1], step.target) in backs
            if not (is_back and leads_back):
                open_walks.append(((*walk, step.target), is_back or leads_back))
        if len(open_walks) + len(found) > limit:
            return None
    return found
