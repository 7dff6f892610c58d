"""`python -m tests.fuzz`: hostile inputs for every reader, or a replay of one."""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.inputs.corpus import make_corpus
from tests.fuzz.runs import campaign
from tests.fuzz.runs.execution import Bench
from tests.fuzz.runs.findings import summary, target_of
from tests.fuzz.runs.state import ACCEPTED, FAULTY, REFUSED, SLOWEST, TAKEN
from tests.fuzz.sandbox import Sandbox
from tests.fuzz.targets import TARGETS

_UNLIMITED = 1 << 62


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so long")
    parser.add_argument("--executions", type=int, default=_UNLIMITED, help="end after so many")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--bounds-check", action="store_true", help="check all indexes in kernels")
    parser.add_argument(
        "--findings", type=Path, default=Path("findings"), help="directory for them"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="execute an input of findings")
    parser.add_argument("--target", help="target of the input, if its name does not say")
    given = parser.parse_args()
    if unknown := [name for name in given.targets if name not in TARGETS]:
        parser.error(f"no such target: {', '.join(unknown)}")
    return given


def _environment(*, checks_bounds: bool) -> dict[str, str]:
    """Return the environment of workers; code with and without checks must not share a cache."""
    environment = dict(os.environ)
    if checks_bounds:
        environment["NUMBA_BOUNDSCHECK"] = "1"
        environment.setdefault("HAPGPU_CACHE_DIR", str(Path.home() / ".cache" / "hapgpu"))
        for name in {"HAPGPU_CACHE_DIR", "NUMBA_CACHE_DIR"} & environment.keys():
            environment[name] += "-checked"
    return environment


def _table(targets: tuple[str, ...], counts: NDArray[np.int64]) -> str:
    titles = ("executions", "accepted", "faulty", "a second", "ms at most")
    lines = [f"{'target':22}" + "".join(f"{title:>12}" for title in titles)]
    for name, row in zip(targets, counts, strict=True):
        number = int(row[ACCEPTED] + row[REFUSED] + row[FAULTY])
        rate = 1e6 * number / max(int(row[TAKEN]), 1)
        values = (number, row[ACCEPTED], row[FAULTY], round(rate), row[SLOWEST])
        lines.append(f"{name:22}" + "".join(f"{value:12,}" for value in values))
    return "\n".join(lines)


def _fuzz(given: argparse.Namespace, directory: Path) -> int:
    targets = tuple(given.targets or TARGETS)
    plan = campaign.Plan(targets, given.seed, given.jobs, given.executions, given.seconds)
    environment = _environment(checks_bounds=given.bounds_check)
    counts, seconds = campaign.run(plan, directory, given.findings, environment)
    print(_table(targets, counts))
    done, faulty = int(counts[:, :3].sum()), int(counts[:, FAULTY].sum())
    print(f"{done:,} executions in {seconds:.0f} s, {faulty:,} findings")
    if faulty:
        print("\n".join(summary(given.findings)))
    return int(faulty > 0)


def _replay(path: Path, target: str | None, directory: Path) -> int:
    faulthandler.enable()
    (directory / "corpus").mkdir()
    corpus = make_corpus(directory / "corpus")
    bench = Bench(target or target_of(path), corpus, Sandbox(corpus, directory))
    accepted, fault = bench.execute(path.read_bytes())
    print(fault.text if fault else "accepted" if accepted else "refused")
    return int(fault is not None)


def main() -> int:
    """Return the exit status: 1 if there are findings."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # and end workers
    given = _arguments()
    memory = Path("/dev/shm")  # noqa: S108  (its directories have names of their own)
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        if given.replay:
            return _replay(given.replay, given.target, Path(directory))
        return _fuzz(given, Path(directory))


if __name__ == "__main__":
    sys.exit(main())
