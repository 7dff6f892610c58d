"""Reference implementation of candidate haplotypes: all products of options, text replaced."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hapgpu.io.vcf.records import VcfRecord
from tests.haplotypes.made_records import sequence_rows

Options = Sequence[Sequence[int]]
"""Rows of ALT of each option of a group; the first is its base option."""

VISITED_PER_KEPT = 16


@dataclass(frozen=True)
class Edit:
    """Text that replaces the bases start to end."""

    site: int
    start: int
    end: int
    text: str
    changes: int


def shared_prefix(a: str, b: str) -> int:
    return max(k for k in range(len(a) + 1) if b.startswith(a[:k]))


def edit_of(site: int, start: int, reference: str, alternative: str) -> Edit:
    shared = shared_prefix(reference[::-1], alternative[::-1])
    old, new = reference[: len(reference) - shared], alternative[: len(alternative) - shared]
    shared = shared_prefix(old, new)
    old, new = old[shared:], new[shared:]
    is_substitution = len(old) == len(new)
    changes = sum(a != b for a, b in zip(old, new, strict=False)) if is_substitution else 0
    start += shared
    return Edit(site, start, start + len(old), new, changes or max(len(old), len(new)))


def trimmed_alleles_of(records: Sequence[VcfRecord]) -> dict[int, Edit]:
    """Return the edit of each row of ALT, without rows that change nothing."""
    edits = {
        row: edit_of(site, records[site].start, records[site].reference, text)
        for row, (site, text) in sequence_rows(records).items()
    }
    return {row: edit for row, edit in edits.items() if edit.start < edit.end or edit.text}


def conflict(a: Edit, b: Edit) -> bool:
    if a.start < b.end and b.start < a.end:  # also an insertion within the other
        return True
    bare = [edit for edit in (a, b) if edit.start == edit.end or not edit.text]
    has_insertion = any(edit.start == edit.end for edit in (a, b))
    return a.start == b.start and has_insertion and len(bare) == 2


def kept(
    groups: Sequence[Options], edits: dict[int, Edit], max_combinations: int
) -> list[frozenset[int]]:
    """Return the rows of each combination of one set of groups that is kept."""
    chosen = []
    for picks in itertools.product(*(range(len(options)) for options in groups)):
        not_base = [(group, pick) for group, pick in enumerate(picks) if pick]
        rows = {row for options, pick in zip(groups, picks, strict=True) for row in options[pick]}
        chosen.append((len(not_base), not_base, frozenset(rows & edits.keys())))
    chosen.sort(key=lambda one: one[:2])
    few = [rows for size, _, rows in chosen if size < 2 and fits(rows, edits)]
    many = [rows for size, _, rows in chosen if size >= 2][: VISITED_PER_KEPT * max_combinations]
    many = [rows for rows in many if fits(rows, edits)]
    return few + many[: max(max_combinations - len(few), 0)]


def fits(rows: Iterable[int], edits: dict[int, Edit]) -> bool:
    return not any(conflict(edits[a], edits[b]) for a, b in itertools.combinations(rows, 2))


def applied(window: str, start: int, edits: Iterable[Edit]) -> str:
    # At one position the insertion comes before the substitution: it is applied last.
    for edit in sorted(edits, key=lambda one: (one.start, one.end), reverse=True):
        window = window[: edit.start - start] + edit.text + window[edit.end - start :]
    return window


def haplotypes(
    window: str,
    start: int,
    records: Sequence[VcfRecord],
    group_sets: Sequence[Sequence[Options]],
    max_combinations: int,
) -> list[tuple[str, list[int]]]:
    """Return the haplotypes of one locus, each with the rows of ALT that it carries."""
    edits = trimmed_alleles_of(records)
    combinations = [rows for groups in group_sets for rows in kept(groups, edits, max_combinations)]
    combinations.sort(key=bool)  # the combination without any change first
    by_text: dict[str, list[frozenset[int]]] = {}
    for rows in combinations or [frozenset()]:
        text = applied(window, start, (edits[row] for row in rows))
        by_text.setdefault(text, []).append(rows)
    return [(text, list(united(rows, edits))) for text, rows in by_text.items()]


def united(combinations: Sequence[frozenset[int]], edits: dict[int, Edit]) -> Iterator[int]:
    changes = [sum(edits[row].changes for row in rows) for rows in combinations]
    best = [rows for rows, n in zip(combinations, changes, strict=True) if n == min(changes)]
    seen = set()
    for row in sorted(frozenset().union(*best)):
        if edits[row].site not in seen:
            seen.add(edits[row].site)
            yield row
