"""`hapgpu call --dragstr-params-path`: gap penalties by repeats, and the fields of indels."""

from pathlib import Path

import pytest

from tests.cli.call.command import Inputs, make_inputs, status_of, text_of
from tests.cli.in_process import error_of_command
from tests.pairhmm.dragstr.test_parameters import TABLES
from tests.pairhmm.dragstr.test_parameters import text_of as file_of

REGION = ("-r", "chr20:15000-15500", "--device", "cpu")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture
def parameters(tmp_path: Path) -> Path:
    path = tmp_path / "parameters.txt"
    path.write_text(file_of(TABLES))
    return path


@pytest.mark.parametrize("mode", [(), ("--gvcf",)])
def test_fields_of_indels(
    example: Inputs, parameters: Path, tmp_path: Path, mode: tuple[str, ...]
) -> None:
    plain, out = tmp_path / "plain.vcf", tmp_path / "out.vcf"
    assert status_of(*example, *REGION, *mode, "-o", plain) == 0
    assert status_of(*example, *REGION, *mode, "--dragstr-params-path", parameters, "-o", out) == 0
    assert "DRAGstr" not in text_of(plain).replace("--dragstr-params-path", "")
    header, _, records = text_of(out).partition("#CHROM")
    assert header.count("##INFO=<ID=DRAGstr") == 2
    (record,) = [line for line in records.splitlines() if line.startswith("chr20\t15180\t")]
    assert ";DRAGstrInfo=2,14;DRAGstrParams=20.0,1.4,3.0;" in record
    (before,) = [line for line in text_of(plain).splitlines() if "\t15180\t" in line]
    assert record.split("\t")[9] != before.split("\t")[9]


def test_a_malformed_file(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "parameters.txt", tmp_path / "out.vcf"
    path.write_text("1 2 3\nGOP:\n40 40\n")
    assert status_of(*example, *REGION, "--dragstr-params-path", path, "-o", out) == 1
    assert f"{path}, line 3: found '40 40', expected 3 numbers" in error_of_command("call", capsys)
    assert not out.exists()


def test_the_file_is_not_written_over(
    example: Inputs, parameters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = parameters.read_text()
    assert status_of(*example, *REGION, "--dragstr-params-path", parameters, "-o", parameters) == 2
    assert "is also an input" in error_of_command("call", capsys)
    assert parameters.read_text() == text
