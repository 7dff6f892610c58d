"""`python -m tests.mutations`: change constants and comparisons, and list what no test notices."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import zlib
from pathlib import Path

from tests.mutations.campaign import COMPILED, INTERPRETED, KILLED, SURVIVED, Plan, outcomes, run
from tests.mutations.explained import reason_for
from tests.mutations.mutants import COMMANDS, COMPARISON, CONSTANT, Mutant, mutants_of


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--method", action="append", choices=COMMANDS, help="default: all")
    parser.add_argument("--path", default="", help="only files whose path contains this")
    parser.add_argument("--constants", action="store_true", help="only constants")
    parser.add_argument("--comparisons", action="store_true", help="only comparisons")
    parser.add_argument("--interpreted", action="store_true", help="run no compiled tests")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="one of N random parts")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so long")
    parser.add_argument("--limit", type=float, default=1800, help="seconds of a compiled run")
    parser.add_argument("--directory", type=Path, help="for copies; default: a temporary one")
    parser.add_argument("--log", type=Path, default=Path("mutations.tsv"), help="to add to")
    parser.add_argument("--list", action="store_true", help="list the mutants, run none")
    return parser.parse_args()


def _chosen(given: argparse.Namespace) -> list[Mutant]:
    kinds = {CONSTANT, COMPARISON}
    if given.constants != given.comparisons:
        kinds = {CONSTANT if given.constants else COMPARISON}
    number, parts = map(int, given.shard.split("/"))
    return [
        mutant
        for method in given.method or COMMANDS
        for mutant in mutants_of(method)
        if mutant.kind in kinds
        and given.path in str(mutant.path)
        and zlib.crc32(mutant.key.encode()) % parts == number - 1
    ]


def main() -> int:
    """Return the exit status: 1 if there are survivors that are not explained."""
    given = _arguments()
    mutants = _chosen(given)
    if given.list:
        for mutant in mutants:
            print(f"{mutant.path}:{mutant.line}\t{mutant.key}\t{reason_for(mutant) or ''}")
        return 0
    explained = {mutant.key for mutant in mutants if reason_for(mutant)}
    with tempfile.TemporaryDirectory(prefix="mutations-") as directory:
        end = time.monotonic() + given.seconds
        levels = (INTERPRETED,) if given.interpreted else (INTERPRETED, COMPILED)
        plan = Plan(
            (given.directory or Path(directory)).resolve(),
            given.log.resolve(),
            end,
            levels,
            given.limit,
        )
        run([mutant for mutant in mutants if mutant.key not in explained], plan, given.jobs)
    return _report(mutants, explained, given.log)


def _report(mutants: list[Mutant], explained: set[str], log: Path) -> int:
    """Print the survivors and counts of the mutants that have run."""
    known = outcomes(log)
    survivors = [
        mutant
        for mutant in mutants
        if known.get(mutant.key, ("",))[0] == SURVIVED and mutant.key not in explained
    ]
    for mutant in survivors:
        print(f"{mutant.path}:{mutant.line}\t{mutant.name}\t{mutant.before} -> {mutant.after}")
    killed = sum(known.get(mutant.key, ("",))[0] == KILLED for mutant in mutants)
    print(
        f"{len(mutants):,} mutants: {killed:,} killed, {len(explained):,} explained, "
        f"{len(survivors):,} survived"
    )
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
