"""The rule by which `hapgpu realign --reference` moves a read, at its limits."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pysam
import pytest

from tests.cli.realign.command import haplotypes_of, records, sam_of
from tests.realign.move_oracle import Loci, expected_on_reference
from tests.realign.realign_oracle import Record, Rules, record_of

LENGTH = 600
LOCUS = (250, 350)
AT = 300  # where a haplotype differs from the reference
BEFORE = 60  # bases of a read before that
FOR_EACH = {"A": "C", "C": "G", "G": "T", "T": "A"}


def reference_of(seed: int) -> str:
    return "".join(Random(seed).choices("ACGT", k=LENGTH))  # noqa: S311  (the same on every run)


def mismatches(one: str, other: str) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def with_deletion(deleted: int, wrong: int) -> tuple[str, str]:
    """Return a reference, and a read with a deletion, or with some mismatches instead of it."""
    for seed in range(1000):
        bases = reference_of(seed)
        tail = bases[AT + deleted : AT + deleted + 40]
        for length in range(4, 40):
            is_shifted = bases[AT] == tail[0] or bases[AT - 1] == bases[AT + deleted - 1]
            if not is_shifted and mismatches(tail[:length], bases[AT : AT + length]) == wrong:
                return bases, bases[AT - BEFORE : AT] + tail[:length]
    raise AssertionError("no such reference")


def moved(
    directory: Path, bases: str, alleles: list[str], read: tuple[int, str, str], *options: str
) -> Record:
    """Realign a read, (position, CIGAR, bases), by haplotypes with alleles of the locus."""
    reference, fasta, sam = (directory / name for name in ("ref.fa", "haplotypes.fa", "reads.sam"))
    reference.write_text(f">chr\n{bases}\n")
    pysam.faidx(str(reference))
    start, end = LOCUS
    entries = [f">h{n} chr:{start + 1}-{end}\n{x}\n" for n, x in enumerate(alleles)]
    fasta.write_text("".join(entries))
    position, cigar, text = read
    columns = ("r", 0, "chr", position + 1, 60, cigar, "*", 0, 0, text, "I" * len(text))
    line = "\t".join(map(str, columns))
    sam.write_text(f"@SQ\tSN:chr\tLN:{len(bases)}\n{line}\n")
    (found,) = records(sam_of(directory, sam, fasta, "--reference", reference, *options))
    share = float(options[-1]) if "--min-score" in options else 0.2
    by_likelihood = "likelihood" in options
    rules = Rules(by_likelihood=by_likelihood, min_score=share, always="--always" in options)
    loci = Loci(haplotypes_of(fasta), reference)
    assert found == expected_on_reference(line, loci, rules)
    if not any(text.startswith("OC:") for text in found.fields):
        assert found == record_of(line)
    return found


def allele_without(bases: str, deleted: int) -> str:
    return bases[LOCUS[0] : AT] + bases[AT + deleted : LOCUS[1]]


@pytest.mark.parametrize(
    ("deleted", "wrong", "is_paid"),
    [
        pytest.param(2, 1, False, id="gain 25, growth 1"),
        pytest.param(3, 2, True, id="gain 50, growth 1"),
        pytest.param(6, 4, True, id="gain 100, growth 2"),
        pytest.param(7, 4, False, id="gain 100, growth 3"),
        pytest.param(15, 10, True, id="a gap of 15 counts as 12: gain 250, growth 2"),
        pytest.param(12, 7, False, id="gain 175, growth 5"),
        pytest.param(12, 8, True, id="gain 200, growth 4"),
        pytest.param(25, 7, False, id="a gap of 25 counts as 12: gain 175, growth 5"),
        pytest.param(25, 8, True, id="a gap of 25 counts as 12: gain 200, growth 4"),
        pytest.param(4, 6, True, id="gain 150, fewer differences"),
    ],
)
def test_differences_have_to_pay(tmp_path: Path, deleted: int, wrong: int, is_paid: bool) -> None:
    """One mismatch less gains 25; each further difference must gain 50."""
    bases, text = with_deletion(deleted, wrong)
    read = (AT - BEFORE, f"{len(text)}M", text)
    alleles = [bases[slice(*LOCUS)], allele_without(bases, deleted)]
    new = f"{BEFORE}M{deleted}D{len(text) - BEFORE}M"
    record = moved(tmp_path, bases, alleles, read)
    assert record.columns[5] == (new if is_paid else read[1])
    record = moved(tmp_path, bases, alleles, read, "--always")
    assert record.columns[5] == new
    assert f"AS:i:{10 * len(text)}" in record.fields
    loss = min(25 * wrong, 30 + 5 * (deleted - 1))  # the reference explains the read by a gap, too
    (second,) = (text[5:] for text in record.fields if text.startswith("XS:i:"))
    assert int(second) >= 10 * len(text) - loss


@pytest.mark.parametrize("inserted", [1, 4])
def test_a_loss_is_never_paid(tmp_path: Path, inserted: int) -> None:
    """A read that the haplotype explains worse than its old alignment stays unchanged."""
    bases = reference_of(1)
    allele = bases[LOCUS[0] : AT] + "ACCA"[:inserted] + bases[AT : LOCUS[1]]
    text = f"{bases[AT - 30 : AT]}{FOR_EACH[bases[AT]]}{bases[AT + 1 : AT + 30]}"
    read = (AT - 30, "60M", text)
    assert moved(tmp_path, bases, [allele], read).columns[5] == "60M"


@pytest.mark.parametrize(
    ("wrong", "is_aligned"),
    [
        pytest.param((), True, id="50"),
        pytest.param((0,), True, id="25"),
        pytest.param((0, 2), False, id="0: a tie"),
        pytest.param((0, 2, 4), False, id="-25"),
    ],
)
@pytest.mark.parametrize("is_leading", [False, True])
def test_clipped_ends(
    tmp_path: Path, wrong: tuple[int, ...], is_aligned: bool, is_leading: bool
) -> None:
    """Five bases are aligned if that scores more; the read moves because of a deletion."""
    bases, text = with_deletion(6, 4)
    inside = len(text) - BEFORE
    if is_leading:
        position, old, new = AT - BEFORE, f"5S{len(text) - 5}M", f"5S{BEFORE - 5}M6D{inside}M"
        position += 5
        whole = f"{BEFORE}M6D{inside}M"
    else:
        end = AT + 6 + inside
        text += bases[end : end + 5]
        position, old, new = AT - BEFORE, f"{BEFORE + inside}M5S", f"{BEFORE}M6D{inside}M5S"
        whole = f"{BEFORE}M6D{inside + 5}M"
    changed = {k if is_leading else len(text) - 1 - k for k in wrong}
    text = "".join(FOR_EACH[base] if k in changed else base for k, base in enumerate(text))
    record = moved(tmp_path, bases, [allele_without(bases, 6)], (position, old, text))
    assert record.columns[5] == (whole if is_aligned else new)
    assert int(record.columns[3]) == position + 1 - 5 * (is_leading and is_aligned)
    always = moved(tmp_path, bases, [allele_without(bases, 6)], (position, old, text), "--always")
    assert always.columns[5] == whole


@pytest.mark.parametrize("share", ["0.84", "0.85"])
def test_the_lowest_score(tmp_path: Path, share: str) -> None:
    """All bases count, clipped bases, too: 100 bases, of which 15 stay clipped, score 850."""
    bases, text = with_deletion(6, 4)
    text = text[: BEFORE + 60]
    junk = "".join(FOR_EACH[FOR_EACH[x]] for x in bases[AT - BEFORE - 15 : AT - BEFORE])
    text = (junk + text)[:100]
    text += bases[AT + 6 + len(text) - 15 - BEFORE :][: 100 - len(text)]
    read = (AT - BEFORE, "15S85M", text)
    more = f"{float(share) + 0.001}"
    alleles = [allele_without(bases, 6)]
    record = moved_above(tmp_path, bases, alleles, read, share)
    assert record.columns[5] == f"15S{BEFORE}M6D{85 - BEFORE}M"
    assert "AS:i:850" in record.fields
    if share == "0.85":
        assert moved_above(tmp_path, bases, alleles, read, more).columns[5] == "15S85M"


def moved_above(
    directory: Path, bases: str, alleles: list[str], read: tuple[int, str, str], share: str
) -> Record:
    return moved(directory, bases, alleles, read, "--min-score", share)


def test_an_inserted_end_is_clipped(tmp_path: Path) -> None:
    """A read that ends inside an insertion; `--always` writes it as GATK does."""
    bases = reference_of(1)
    inserted = "".join(FOR_EACH[x] for x in bases[AT : AT + 11]) + FOR_EACH[bases[AT - 1]]
    allele = bases[LOCUS[0] : AT] + inserted + bases[AT : LOCUS[1]]
    text = bases[AT - BEFORE : AT] + inserted[:8]
    read = (AT - BEFORE, f"{BEFORE + 8}M", text)
    assert moved(tmp_path, bases, [allele], read).columns[5] == f"{BEFORE}M8S"
    always = moved(tmp_path, bases, [allele], read, "--always")
    assert always.columns[5] == f"{BEFORE}M8I"


def test_likelihood_chooses_another_haplotype_than_score(tmp_path: Path) -> None:
    """Clipped bases that only one haplotype explains do not count."""
    bases, text = with_deletion(6, 4)
    end = AT + len(text) - BEFORE + 6
    clip = "".join(FOR_EACH[x] for x in bases[end : end + 10])
    one = allele_without(bases, 6)
    site, near = AT - 20 - LOCUS[0], end - 6 - LOCUS[0]
    other = one[:site] + FOR_EACH[one[site]] + one[site + 1 : near] + clip[:6] + one[near + 6 :]
    read = (AT - BEFORE, f"{len(text)}M10S", text + clip)
    record = moved(tmp_path, bases, [other, one], read, "--best-by", "likelihood")
    assert record.columns[5] == f"{BEFORE}M6D{len(text) - BEFORE}M10S"
    # The other one has six of the ten clipped bases, which pay for an insertion of four.
    assert {f"AS:i:{10 * len(text)}", f"XS:i:{10 * len(text) - 25 + 60 - 45}"} <= record.fields


@pytest.mark.parametrize("is_sorted", [False, True])
def test_an_unmapped_mate_moves_along(tmp_path: Path, is_sorted: bool) -> None:
    """A read moves to the start of the clipped bases of its mate."""
    bases, text = with_deletion(6, 4)
    alleles, old = [allele_without(bases, 6)], f"5S{len(text) - 5}M"
    start = AT - BEFORE + 1
    moved(tmp_path, bases, alleles, (start + 4, old, text))
    ends = ("chr", start + 5, 60, old), ("chr", start + 5, 0, "*")
    columns = [
        ("r", flag, *end, "=", start + 5, 0, text, "I" * len(text))
        for flag, end in zip((73, 133), ends, strict=True)
    ]
    between = ("s", 0, "chr", start + 2, 60, "4M", "*", 0, 0, "ACGT", "IIII")
    lines = ["\t".join(map(str, x)) for x in (between, *columns)]
    heading = "@HD\tVN:1.6\tSO:coordinate\n" * is_sorted
    sam = tmp_path / "reads.sam"
    sam.write_text(f"{heading}@SQ\tSN:chr\tLN:{LENGTH}\n" + "".join(f"{x}\n" for x in lines))
    reference = ("--reference", tmp_path / "ref.fa")
    found = records(sam_of(tmp_path, sam, tmp_path / "haplotypes.fa", *reference))
    rest = found[:-1] if is_sorted else found[1:]
    assert [r.columns[0] for r in found] == (["r", "r", "s"] if is_sorted else ["s", "r", "r"])
    assert [r.columns[1:5] for r in rest] == [
        ("73", "chr", str(start), "60"),
        ("133", "chr", str(start), "0"),
    ]
    assert [r.columns[6:9] for r in rest] == [("=", str(start), "0")] * 2
    assert not rest[1].fields
