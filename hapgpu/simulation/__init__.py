"""Simulated data with known truth: genomes, variants, samples, reads and alignments.

- `sequences`: random bases, base errors, references, tandem repeats, segmental copies; all
  simulators use it,
- `read_text`: names of reads and FASTQ,
- `variants`, `unlisted_variants`, `phased_variants`: random variants of a sample,
- `copies`, `fragments`, `paired_reads`, `alignments`, `sample`: aligned paired reads of a sample,
- `short_reads`, `long_reads`: reads of a reference without variants.
"""
