"""Results do not depend on threads, devices, batches, streams, or the compression of outputs."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from hapgpu.io.bgzf.marks import EOF_BLOCK
from tests.faults.checks import plain
from tests.faults.commands import COMMANDS, Command, cells, each, streamed
from tests.faults.good_outputs import GoodOutputs
from tests.faults.processes.running import a_pipe, run
from tests.faults.small_batches import SMALL_BATCHES

_TEXTS = (".sam", ".paf", ".tsv", ".fa", ".vcf")


def result(directory: Path, command: Command, *options: str, **replaced: str) -> bytes:
    done = run([*command.with_output(**replaced), *options], directory)
    assert done.status == 0, done
    return plain(directory / command.output)


@pytest.mark.parametrize("threads", ["1", "5"])
@pytest.mark.parametrize("command", each(c for c in COMMANDS if "-t" in c.resources))
def test_threads(
    directory: Path, good_outputs: GoodOutputs, command: Command, threads: str
) -> None:
    expected = good_outputs.main(command)
    assert result(directory, command, "-t", threads) == expected


@pytest.mark.parametrize("command", each(c for c in COMMANDS if c.subcommand in SMALL_BATCHES))
def test_batches(
    directory: Path, good_outputs: GoodOutputs, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = good_outputs.main(command)
    for target, value in SMALL_BATCHES[command.subcommand].items():
        monkeypatch.setattr(target, value)
    assert result(directory, command) == expected


@pytest.mark.parametrize("through", ["file", "pipe"])
@pytest.mark.parametrize(("command", "role"), cells(streamed()))
def test_standard_input(
    directory: Path, good_outputs: GoodOutputs, command: Command, role: str, through: str
) -> None:
    expected = good_outputs.main(command)
    path = directory / command.inputs[role].name
    words = command.with_output(**{role: "-"})
    if through == "pipe":
        with a_pipe(path) as stdin:
            done = run(words, directory, stdin)
    else:
        done = run(words, directory, path)
    assert done.status == 0, done
    assert plain(directory / command.output) == expected


@pytest.mark.parametrize("command", each(c for c in COMMANDS if c.to_stdout))
def test_standard_output(directory: Path, command: Command) -> None:
    """The ending of a name, if any, sets the format."""
    (directory / "from_stdout").write_bytes(run(command.words(), directory).out)
    done = run(command.with_output("to_file"), directory)
    assert done.status == 0, done
    assert plain(directory / "from_stdout") == plain(directory / "to_file")


@pytest.mark.parametrize("ending", [".gz", ".BGZ"])
@pytest.mark.parametrize("command", each(c for c in COMMANDS if c.output.endswith(_TEXTS)))
def test_compressed_output(
    directory: Path, good_outputs: GoodOutputs, command: Command, ending: str
) -> None:
    """It is BGZF, also for the statistics, and the extension before sets the format."""
    expected = good_outputs.main(command)
    output, statistics = directory / f"{command.output}{ending}", directory / f"run.json{ending}"
    done = run([*command.with_output(output.name), "--json", statistics.name], directory)
    assert done.status == 0, done
    for path in (output, statistics):
        assert path.read_bytes().endswith(EOF_BLOCK)
    inflated = directory / command.output
    inflated.write_bytes(gzip.decompress(output.read_bytes()))
    assert plain(inflated) == expected
    assert json.loads(gzip.decompress(statistics.read_bytes()))["command"] == command.subcommand


@pytest.mark.gpu
@pytest.mark.parametrize("command", each(c for c in COMMANDS if "--device" in c.resources))
def test_devices(directory: Path, good_outputs: GoodOutputs, command: Command) -> None:
    on_cpu, on_gpu = good_outputs.main(command), result(directory, command, "--device", "cuda")
    if command.subcommand == "pairhmm":
        on_gpu, on_cpu = rounded(on_gpu), rounded(on_cpu)
    assert on_gpu == on_cpu


def rounded(table: bytes) -> bytes:
    """Return a table whose likelihoods have as many digits as single precision gives."""
    return re.sub(rb"-?[0-9]+\.[0-9]+", lambda found: b"%.3f" % float(found[0]), table)
