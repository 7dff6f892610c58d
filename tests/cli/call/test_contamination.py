"""`hapgpu call --contamination`: both outputs, annotations, samples, and files of fractions."""

from __future__ import annotations

from pathlib import Path

import pysam
import pytest

from tests.cli.call.command import Inputs, called, records_in, status_of, text_of
from tests.cli.call.genomic.test_gvcf import covered_in
from tests.cli.in_process import error_of_command
from tests.haplotypes.made_references import random_text
from tests.simulation.made_samples import made_sample


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Return reads of a sample with a variant every 150 bases."""
    text = random_text(8000, 3)
    files = made_sample(tmp_path_factory.mktemp("sample"), text, 2, 20).files
    return Inputs(files.reads, files.reference)


def by_place(text: str) -> dict[tuple[str, ...], list[str]]:
    """Return the records by position and alleles."""
    return {(row[1], row[3], row[4]): row for row in records_in(text)}


@pytest.mark.parametrize("mode", [(), ("--gvcf",)])
def test_0_is_off(sample: Inputs, tmp_path: Path, mode: tuple[str, ...]) -> None:
    fractions = tmp_path / "fractions.tsv"
    fractions.write_text("NA1\t0\n")
    expected = called(tmp_path, *sample, *mode)
    assert called(tmp_path, *sample, *mode, "--contamination", "0") == expected
    words = ["--contamination", "0.3", "--contamination-file", fractions]
    assert called(tmp_path, *sample, *mode, *words) == expected


@pytest.mark.parametrize("mode", [(), ("--gvcf",)])
def test_annotations_are_of_all_reads(
    sample: Inputs, tmp_path: Path, mode: tuple[str, ...]
) -> None:
    """But QUAL, PL and what is made of them: MLEAC, MLEAF, QD and the genotypes."""
    of_genotypes = ("AC=", "AF=", "MLEAC=", "MLEAF=", "QD=", "ExcessHet=")

    def depths(row: list[str]) -> dict[str, str]:
        found = dict(zip(row[8].split(":"), row[9].split(":"), strict=True))
        return {key: found[key] for key in ("AD", "DP", "SB") if key in found}

    def info(row: list[str]) -> list[str]:
        return [field for field in row[7].split(";") if not field.startswith(of_genotypes)]

    plain = by_place(called(tmp_path, *sample, *mode))
    option = ("--contamination", "0.35")
    removed = by_place(called(tmp_path, *sample, *mode, *option))
    only = by_place(
        called(tmp_path, *sample, *mode, *option, "--use-filtered-reads-for-annotations")
    )
    shared = [place for place in removed.keys() & plain.keys() if "END=" not in plain[place][7]]
    called_in_both = [p for p in shared if plain[p][9][0] != "." != removed[p][9][0]]
    assert len(called_in_both) > 15
    for place in called_in_both:
        assert depths(removed[place]) == depths(plain[place])
        assert info(removed[place]) == info(plain[place])
    assert any(removed[place][5] != plain[place][5] for place in shared)
    assert removed.keys() == only.keys()
    changed = [p for p in removed if depths(only[p]) != depths(removed[p])]
    assert changed
    for place in removed:
        genotypes = [rows[place][9].split(":") for rows in (removed, only)]
        assert genotypes[0][0] == genotypes[1][0]
        assert removed[place][5] == only[place][5]


def test_a_fraction_of_1_leaves_no_variant(sample: Inputs, tmp_path: Path) -> None:
    """The blocks are of all reads."""
    assert not records_in(called(tmp_path, *sample, "--contamination", "1"))
    text = called(tmp_path, *sample, "--gvcf", "--contamination", "1")
    assert all(row[4] == "<NON_REF>" for row in records_in(text))
    assert covered_in(text) == covered_in(called(tmp_path, *sample, "--gvcf"))


def test_blocks_do_not_change(sample: Inputs, tmp_path: Path) -> None:
    plain = called(tmp_path, *sample, "--gvcf").splitlines()
    removed = called(tmp_path, *sample, "--gvcf", "--contamination", "0.02").splitlines()
    blocks = [[line for line in lines if "END=" in line] for lines in (plain, removed)]
    assert blocks[0] == blocks[1]


@pytest.mark.parametrize(
    "words", [("-t", "3", "--processes", "3"), ("-t", "2", "--processes", "1")]
)
def test_threads_and_processes(sample: Inputs, tmp_path: Path, words: tuple[str, ...]) -> None:
    option = ("--contamination", "0.2")
    expected = called(tmp_path, *sample, *option, threads=1)
    out = tmp_path / "out.vcf"
    assert status_of(*sample, "-q", "-o", out, *option, *words) == 0
    assert text_of(out) == expected


def test_samples_have_their_own_fractions(sample: Inputs, tmp_path: Path) -> None:
    """The reads of the second sample are all removed: its genotypes are missing."""
    other = tmp_path / "other.bam"
    group = "@RG\\tID:b\\tSM:second"
    pysam.samtools.addreplacerg(
        *("-r", group, "-m", "overwrite_all", "-o", str(other), str(sample.reads)),
        catch_stdout=False,
    )
    pysam.index(str(other))
    fractions = tmp_path / "fractions.tsv"
    fractions.write_text("\n second\t1.0 \nthird\t0.5\n")
    words = [sample.reads, other, sample.reference]
    rows = records_in(called(tmp_path, *words, "--contamination-file", fractions))
    assert len(rows) > 20
    assert {row[10].split(":")[0] for row in rows} == {"./."}
    alone = by_place(called(tmp_path, *sample))
    assert sum(row[9] == alone[row[1], row[3], row[4]][9] for row in rows) > 20


def test_names_that_the_reads_do_not_have(
    sample: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fractions = tmp_path / "fractions.tsv"
    fractions.write_text("NA1\t0.1\nNA2\t0.5\nna3\t0\n")
    out = tmp_path / "out.vcf"
    assert status_of(*sample, "-o", out, "--contamination-file", fractions) == 0
    warning = "2 samples of --contamination-file ignored: not in the reads (NA2, na3)"
    assert warning in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"NA1 0.1\n", "line 1: found 'NA1 0.1', expected a sample, a tab and a fraction"),
        (b"NA1\t0.1\t2\n", "line 1: found"),
        (b"\t0.1\n", "expected a sample, a tab and a fraction"),
        (b"NA1\t0.1\n\nNA2\t\n", "line 3: found"),
        (b"NA1\tmuch\n", "fraction is 'much', expected a number from 0 to 1"),
        (b"NA1\tnan\n", "fraction is 'nan'"),
        (b"NA1\t-0.1\n", "fraction is '-0.1'"),
        (b"NA1\t1.01\n", "fraction is '1.01'"),
        (b"NA1\t1e999\n", "fraction is '1e999'"),
        (b"NA1\t0.1\nNA1\t0.1\n", "line 2: sample 'NA1' again"),
        (b"NA1\t\xff\n", "not text"),
        (b"\x00\x01\x02", "unknown kind of file; give lines of SAMPLE"),
    ],
)
def test_files_that_are_refused(
    sample: Inputs, tmp_path: Path, data: bytes, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fractions = tmp_path / "fractions.tsv"
    fractions.write_bytes(data)
    assert status_of(*sample, "--contamination-file", fractions) == 1
    assert reason in error_of_command("call", capsys)


def test_an_empty_file_has_no_fractions(sample: Inputs, tmp_path: Path) -> None:
    fractions = tmp_path / "fractions.tsv"
    fractions.write_bytes(b"")
    found = called(tmp_path, *sample, "--contamination-file", fractions)
    assert found == called(tmp_path, *sample)


@pytest.mark.parametrize("value", ["-0.1", "1.1", "nan", "x", ""])
def test_fractions_that_are_refused(
    sample: Inputs, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(*sample, "--contamination", value) == 2
    assert "--contamination" in error_of_command("call", capsys)


def test_no_effect_without_contamination(
    sample: Inputs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(*sample, "--use-filtered-reads-for-annotations") == 2
    assert "no effect without --contamination" in error_of_command("call", capsys)
