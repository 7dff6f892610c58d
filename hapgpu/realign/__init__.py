"""Realignment of reads to haplotypes, as in GATK HaplotypeCaller.

The stages, in the order of the data:

- `queries`: bases of reads to align, with and without clipped ends, in one or both orientations,
- `align`: the semi-global affine aligner,
- `selection`: the best haplotype of each read,
- `projection`: alignments with haplotypes converted to alignments with the reference,
- `moves`: the reads that get a new alignment,
- `records`: new SAM records and their tags,
- `rewriting`: all records of a file after the moves.

`pipeline` is the recipe of a run. `realigner` and `mover` call the stages in their order for one
batch, on the CPU or on a GPU; `cpu` and `cuda` have the stages of each device. `scoring` holds the
weights of the aligner. `api` is `hapgpu.align`, `hapgpu.haplotype_cigar` and
`hapgpu.realign_to_reference`.
"""
