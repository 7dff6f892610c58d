"""Simulated data with known truth: genomes, variants, samples, reads and alignments.

- `sequences`: random bases, base errors, references, tandem repeats, names and FASTQ; all
  simulators use it,
- `variants`, `phased_variants`: random variants of a sample, and its chromosome copies,
- `paired_reads`, `alignments`, `sample`: aligned paired reads of a sample,
- `short_reads`, `long_reads`: reads of a reference without variants.
"""
