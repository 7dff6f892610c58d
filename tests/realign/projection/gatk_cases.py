"""Cases of GATK's unit tests of projection and left-alignment."""

from __future__ import annotations

from itertools import groupby, product

from tests.realign import gatk_projection as gatk


def merge(*cigars: str) -> str:
    """Concatenate CIGARs, merging equal neighbours."""
    elements = [element for cigar in cigars for element in gatk.parse(cigar)]
    runs = [(op, list(run)) for op, run in groupby(elements, lambda element: element[1])]
    return "".join(f"{sum(length for length, _ in run)}{op}" for op, run in runs)


def calculate_cigar_cases() -> list[tuple[str, str, str]]:
    """Return the 114 of GATK's CigarUtilsUnitTest.testData_testComputeCigar."""
    repeats = "NNNTGTGTGTGTGTGTGACAGAGAGAGAGAGAGAGAGAGAGAGAGAGANNN"
    longer = "NNNACAGAGAGAGAGAGAGAGAGAGAGAGAGAGAGAGAGAGAGAGAGAGAGAGANNN"
    cases = [
        ("ATGGAGGGGC", "ATGGTGGGGC", "10M"),
        ("ATGGAGGGGC", "ATGGAAAATGGGGC", "5M4I5M"),
        ("ATGGAGGGGC", "ATGGAAAAAAAAATGGGGC", "5M9I5M"),
        ("ATGGAAAAAGGGGC", "ATGGTGGGGC", "4M4D6M"),
        ("ATGGAAAAAGGGGC", "ATGGAAAATGGGGC", "14M"),
        ("ATGGAAAAAGGGGC", "ATGGAAAAAAAAATGGGGC", "9M5I5M"),
        ("ATGGAAAAAAAAAAGGGGC", "ATGGTGGGGC", "4M9D6M"),
        ("ATGGAAAAAAAAAAGGGGC", "ATGGAAAATGGGGC", "4M5D10M"),
        ("ATGGAAAAAAAAAAGGGGC", "ATGGAAAAAAAAATGGGGC", "19M"),
        *[(repeats, repeats, "51M"), (repeats, longer, "3M6I48M")] * 2,
        ("TCCCCCGGGT", "TCCCCCGGGT", "10M"),
        ("TCCCCCGGGT", "TAAACCCCCT", "1M3I5M3D1M"),
    ]
    edits = [
        ("G", "C", "1M"),
        ("G", "", "1D"),
        ("", "C", "1I"),
        ("AAA", "CGT", "3M"),
        ("TAT", "CAC", "3M"),
        ("GCTG", "GTCG", "4M"),
        ("AAAAA", "", "5D"),
        ("", "AAAAA", "5I"),
        ("AAAAACC", "CCGGGGGG", "5D2M6I"),
    ]
    for before, after in product((0, 1, 13), repeat=2):
        flanks = [f"{length}M" if length else "" for length in (before, after)]
        cases += [
            (
                "X" * before + reference + "X" * after,
                "X" * before + haplotype + "X" * after,
                merge(flanks[0], cigar, flanks[1]),
            )
            for reference, haplotype, cigar in edits
        ]
    short = "ATGGATTCCTCCCCAAAAAAAAAAAAGGGCCG"
    middle = "ATGGAAAAATTCCTCCCCCCCCAAAAAAAAAAAAGGGGGGGCCG"
    long = "ATGGAAAAAAAAAATTCCTCCCCCCCCCCCCCAAAAAAAAAAAAGGGGGGGGGGGGCCG"
    return [
        *cases,
        (short, "ATGGTTTCCTCCCCAAAAAAAAAAAATGGCCGCCCC", "32M4I"),
        (short, "ATGGTTTCCTCCCCAAAAAAAAAAAATGGCCG", "32M"),
        (short, "ATGGAAAATTTCCTCCCCAAAAAAAAAAAAGGGGTGGCCGCCCC", "5M4I22M4I5M4I"),
        (short, "ATGGAAAATTTCCTCCCCAAAAAAAAAAAAGGGGTGGCCG", "5M4I22M4I5M"),
        (short, "ATGGAAAAAAAAATTTCCTCCCCAAAAAAAAAAAAGGGGGGGGGTGGCCGCCCC", "5M9I22M9I5M4I"),
        (short, "ATGGAAAAAAAAATTTCCTCCCCAAAAAAAAAAAAGGGGGGGGGTGGCCG", "5M9I22M9I5M"),
        (middle, "ATGGTTTCCTCCCCCCCCAAAAAAAAAAAATGGCCGCCCC", "4M4D26M4D6M4I"),
        (middle, "ATGGTTTCCTCCCCCCCCAAAAAAAAAAAATGGCCG", "4M4D26M4D6M"),
        (middle, "ATGGAAAATTTCCTCCCCCCCCAAAAAAAAAAAAGGGGTGGCCGCCCC", "44M4I"),
        (middle, "ATGGAAAATTTCCTCCCCCCCCAAAAAAAAAAAAGGGGTGGCCG", "44M"),
        (middle, "ATGGAAAAAAAAATTTCCTCCCCCCCCAAAAAAAAAAAAGGGGGGGGGTGGCCGCCCC", "9M5I30M5I5M4I"),
        (middle, "ATGGAAAAAAAAATTTCCTCCCCCCCCAAAAAAAAAAAAGGGGGGGGGTGGCCG", "9M5I30M5I5M"),
        (long, "ATGGTTTCCTCCCCCCCCCCCCCAAAAAAAAAAAATGGCCGCCCC", "4M9D31M9D6M4I"),
        (long, "ATGGTTTCCTCCCCCCCCCCCCCAAAAAAAAAAAATGGCCG", "4M9D31M9D6M"),
        (long, "ATGGAAAATTTCCTCCCCCCCCCCCCCAAAAAAAAAAAAGGGGTGGCCGCCCC", "4M5D35M5D10M4I"),
        (long, "ATGGAAAATTTCCTCCCCCCCCCCCCCAAAAAAAAAAAAGGGGTGGCCG", "4M5D35M5D10M"),
        (long, "ATGGAAAAAAAAATTTCCTCCCCCCCCCCCCCAAAAAAAAAAAAGGGGGGGGGTGGCCGCCCC", "59M4I"),
        (long, "ATGGAAAAAAAAATTTCCTCCCCCCCCCCCCCAAAAAAAAAAAAGGGGGGGGGTGGCCG", "59M"),
    ]


CALCULATE_CIGAR = calculate_cigar_cases()


def read_aligned_to_ref_cases() -> list[tuple[str, str, str, str, int, int, int, str]]:
    """Return the 124 of GATK's AlignmentUtilsUnitTest.makeReadAlignedToRefData.

    Read, haplotype, its CIGAR, reference haplotype, starts of haplotype and reference; expected
    position and CIGAR.
    """
    hap = "ACTGAAGGTTCC"
    reads = [(hap, "12M")]
    reads += [(hap[:i] + "A" + hap[i + 1 :], "12M") for i in range(len(hap))]
    reads += [("N" * pad + hap, f"{pad}I12M") for pad in range(1, 10)]
    reads += [(hap + "N" * pad, f"12M{pad}I") for pad in range(1, 10)]
    cases = [(read, hap, "12M", hap, 0, 10, 10, cigar) for read, cigar in reads]
    for start in range(1, 10):
        cases += [
            (hap, hap, "12M", hap, shift, start, start + shift, "12M")
            for shift in range(start, 10 + start)
        ]
    repeats = (
        "ACTGTGGGTTCCTCTTATTTTATTTCTACATCAATGTTCATATTTAACTTATTATTTTATCTTATTTTTAAATTTCTTTTATGTTGAG"
        "CCTTGATGAAAGCCATAGGTTCTCTCATATAATTGTATGTGTATGTATGTATATGTACATAATATATACATATATGTATATGTATGTG"
        "TATGTACATAATATATACGTATATGTATGTGTATGTACATAATATATACGTATATGTATGTGTATGTACATAATATATACGTATATGT"
        "ATGTGTATGTACATAATATATACGTATATGTATGTGTATGTACATAATATATACGTATATGTATGTGTATGTGTATTACATAATATAT"
        "ACATATATGTATATATTATGTATATGTACATAATATATACATATATG"
    )
    repeats_read = (
        "ATGTACATAATATATACATATATGTATATGTATGTACATAATATATACGTATATGTATGTGTATGTACATAATATATACGTATATGTA"
        "TGTGTATGTACATAATATATACGTATATGTATGTGTATGTACATAATATATACGTATATGTATGTGTATGTACATAATATATACGTAT"
        "ATGTATGTGTATGTGTATTACATAATATATACATATATGTATATATTATGTATATGTACATAATAT"
    )
    snp_reference = (
        "CTGAACGTAACCAAAATCAATATGGATACTGAGAAATACTATTTAATAAAGACATAAATTAGACTGCTAAAAAAAATTAAAGAAATTT"
        "CAAAAGAGAATCCACCTCTTTTCCTTGCCAGTGCTCAAAAGTGAGTGTGAATCTGGTGGCTGTGGGGCTGTTTTTGGTGTGGCTCTTT"
        "GGACCAGCCTGCCTGGTAATTCAAGCCTGCCTCTCATTTCTG"
    )
    deletion_reference = (
        "GGGATCCTGCTACAAAGGTGAAACCCAGGAGAGTGTGGAGTCCAGAGTGTTGCCAGGACCCAGGCACAGGCATTAGTGCCCGTTGGAG"
        "AAAACAGGGGAATCCCGAAGAAATGGTGGGTCCTGGCCATCCGTGAGATCTTCCCAGGGCAGCTCCCCTCTGTGGAATCCAATCTGTC"
        "TTCCATCCTGC"
    )
    snp_haplotype = snp_reference.replace("GGCTGTGGGGCTG", "GGCTGCGGGGCTG")
    deletion_haplotype = deletion_reference[:93] + deletion_reference[95:]
    snp_read = "GCTGCTTTTGGTGTGGCTCTTT"
    deletion_read = "CCCATCCGTGAGATCTTCCCAGGGCAGCTCCCCTCTGTGGAATCCAATCTGTCTTCCATCCTGC"
    whole = f"{len(repeats)}M"
    start = 10130100
    cases.append((repeats_read, repeats, whole, repeats, 500, start, 10130740, "28M6D214M"))
    start = 215239171
    cases.append(
        (snp_read, snp_haplotype, "218M", snp_reference, 575, start, start + 575 + 154, "22M")
    )
    start = 13011
    placed = (deletion_haplotype, "93M2D92M", deletion_reference, 553, start)
    cases.append((deletion_read, *placed, start + 553 + 123, "64M"))
    return cases


READ_ALIGNED_TO_REF = read_aligned_to_ref_cases()


LEFT_ALIGN = [  # AlignmentUtilsUnitTest.makeLeftAlignIndelData: reference, read, CIGAR, expected
    ("ACGT", "ACGT", "4M", "4M"),
    ("ACCT", "ACGT", "4M", "4M"),
    ("AAATTT", "AAACCCTTT", "3M3I3M", "3M3I3M"),
    ("CCCTTT", "AAACCCTTT", "3I6M", "3I6M"),
    ("AAACCC", "AAACCCTTT", "6M3I", "6M3I"),
    ("AAACCC", "AAACCGTTT", "6M3I", "6M3I"),
    ("AAACCCTTT", "AAATTT", "3M3D3M", "3M3D3M"),
    ("AAACCCTTT", "AAACCCCCCTTT", "5M3I4M", "3M3I6M"),
    ("AAACCCTTT", "AAACCCCCCTTT", "6M3I3M", "3M3I6M"),
    ("AAACCCTTT", "AAGCCCCCCTGT", "6M3I3M", "3M3I6M"),
    ("AAACGCGCGCGTTT", "AAACGCGCGCGCGCGTTT", "7M4I7M", "3M4I11M"),
    ("CCGCCG", "CCGCCGCCG", "6M3I", "3I6M"),
    ("ACCGCCG", "TCCGCCGCCG", "7M3I", "1M3I6M"),
    ("AAACCCCCCTTT", "AAACCCTTT", "5M3D4M", "3M3D6M"),
    ("AAACCCCCCTTT", "AAACCCTTT", "6M3D3M", "3M3D6M"),
    ("AAACGCGCGCGCGCGTTT", "AAACGCGCGCGTTT", "7M4D7M", "3M4D11M"),
    ("AAACCCTTTGGGAAA", "AAACCCCCCTTTGGGGGGAAA", "6M3I6M3I3M", "3M3I6M3I6M"),
    ("AAACCCTTTGGGGGGAAA", "AAACCCCCCTTTGGGAAA", "6M3I6M3D3M", "3M3I6M3D6M"),
    ("AAACCCCCTTT", "AAACCCCCTTT", "4M3I3D4M", "11M"),
    ("AAACCCCCTTT", "AAACCCCCTTT", "4M3D3I4M", "11M"),
    ("AAACCCCCTTT", "AAACCCCCTTT", "3M3I2M3D3M", "11M"),
    ("AACGCGCGCGTT", "AACGCGCGCGCGCGTT", "2M2I8M2I2M", "2M4I10M"),
    ("AACGCGCGCGCGCGTT", "AACGCGCGCGTT", "2M2D8M2D2M", "2M4D10M"),
]
