"""One small run on a GPU for compute-sanitizer; see sanitize.sh.

    python -m tests.gpu.sanitized_run NAME DIRECTORY

The directory is made and filled with inputs if it is missing. A name is one of `RUNS` in
`tests.cli.devices.gpu_runs`; without one, the names are printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cli.devices.gpu_runs import GPU, RUNS, make_inputs, status_of


def sanitized_status(name: str, directory: Path) -> int:
    """Execute a run; return its status.

    Each array is an allocation of its own: within the large ones of a pool the sanitizer would
    treat memory beyond the end of an array as part of it.
    """
    import cupy  # noqa: PLC0415  (only where there is a GPU)

    cupy.cuda.set_allocator(None)
    run = RUNS[name]
    outputs = directory / "outputs"
    outputs.mkdir(exist_ok=True)
    return status_of(run, directory, run.output(outputs), GPU)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.stdout.write(" ".join(RUNS) + "\n")
    else:
        inputs = Path(sys.argv[2])
        if not inputs.is_dir():
            make_inputs(inputs)
        sys.exit(sanitized_status(sys.argv[1], inputs) if sys.argv[1] else 0)
