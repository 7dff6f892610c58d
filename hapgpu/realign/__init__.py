"""Realignment of reads to haplotypes, as in GATK HaplotypeCaller.

The stages, in the order of the data:

- `queries`: bases of reads to align, with and without clipped ends, in one or both orientations,
- `align`: the semi-global affine aligner,
- `selection`: the best haplotype of each read,
- `projection`: alignments with haplotypes converted to alignments with the reference,
- `moves`: the reads that get a new alignment,
- `records`: new SAM records and their tags,
- `rewriting`: all records of a file after the moves.

`realigner` and `mover` run the stages on one batch, `run` on whole files. `scoring` holds the
weights of the aligner, `resources` the devices and the output of a run. `api` is `hapgpu.align`,
`hapgpu.haplotype_cigar` and `hapgpu.realign_to_reference`.
"""
