"""Reads realigned to haplotypes, as GATK HaplotypeCaller does it.

The stages, in the order of the data:

- `queries`: what is aligned: bases of reads, extended haplotypes,
- `align`: the semi-global affine aligner,
- `selection`: the haplotype that each read gets,
- `projection`: alignments carried over to the reference,
- `moves`: the reads that get a new alignment,
- `records`: new SAM records and their tags,
- `rewriting`: all records of a file after the moves.

`realigner` and `mover` put the stages into their order for one batch, `run` for whole files.
"""
