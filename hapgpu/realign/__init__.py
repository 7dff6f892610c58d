"""Realignment of reads to haplotypes, as in GATK HaplotypeCaller.

The stages, in the order of the data:

- `selection`: bases of reads to align, in one or both orientations; then their best haplotypes,
- `align`: the semi-global affine aligner,
- `projection`: alignments with haplotypes converted to alignments with the reference; the table of
  the reads that move,
- `records`: new SAM records and their tags; all records of a file after the moves.

`pipeline` is the recipe of a run. `realigner` and `mover` call the stages in their order for one
batch, on the CPU or on a GPU; `cpu` and `cuda` have the stages of each device. `scoring` holds the
weights of the aligner. `api` is `hapgpu.align`, `hapgpu.haplotype_cigar` and
`hapgpu.realign_to_reference`.
"""
