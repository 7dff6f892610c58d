"""Tests of compiled functions again, with a check of each index and each access of memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MODULES = (
    "tests/arrays/test_memory.py",
    "tests/arrays/test_ragged.py",
    "tests/arrays/test_read_gathering.py",
    "tests/arrays/test_vectors.py",
    "tests/calling/gvcf/test_confidence.py",
    "tests/calling/output/test_extreme_lines.py",
    "tests/calling/reads/test_read_order.py",
    "tests/calling/regions/test_pileup.py",
    "tests/cigar/test_extreme_texts.py",
    "tests/genotyping/calls/test_extreme_vcf_lines.py",
    "tests/io/alignments/test_bam_lines.py",
    "tests/io/alignments/test_extreme_texts.py",
    "tests/io/bam/test_extreme_records.py",
    "tests/io/bam/test_overlap.py",
    "tests/io/bam/test_record_reader.py",
    "tests/io/bam/test_sam_lines.py",
    "tests/io/text/test_builder.py",
    "tests/io/text/test_decimals.py",
    "tests/io/text/test_fixed.py",
    "tests/io/text/test_numbers.py",
    "tests/io/text/test_parsing.py",
    "tests/io/vcf/test_tabix.py",
    "tests/longread/align/dp/test_pairs.py",
    "tests/longread/align/fills",
    "tests/longread/output/alignments/test_extreme_lines.py",
    "tests/longread/output/alignments/test_lines.py",
    "tests/longread/output/alignments/test_matches.py",
    "tests/longread/output/test_extreme_paf.py",
    "tests/pairhmm/qualities/test_prepare.py",
    "tests/pairhmm/qualities/test_tandem_repeats.py",
    "tests/pairhmm/reads/test_tables.py",
    "tests/pairhmm/text_batches/test_tables.py",
    "tests/realign/align/test_end_cells.py",
    "tests/realign/align/test_ungapped.py",
    "tests/realign/moves/test_moves.py",
    "tests/realign/projection/test_project.py",
    "tests/realign/rewriting/test_extreme_records.py",
    "tests/realign/rewriting/test_rewriter.py",
    "tests/report/test_alignments.py",
    "tests/report/test_likelihoods.py",
    "tests/report/test_mappings.py",
    "tests/shortread/sam/test_extreme_records.py",
    "tests/shortread/sam/test_sam.py",
    "tests/shortread/search/test_packed_reads.py",
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("module", MODULES)
def test_within_bounds(module: str, tmp_path: Path) -> None:
    """Code with checks has a cache of its own."""
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    done = subprocess.run(
        (*command, module),
        cwd=ROOT,
        env=os.environ | checked,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
