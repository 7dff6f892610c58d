"""Likelihoods of reads given haplotypes: the forward algorithm of GATK's pair-HMM.

The stages, in the order of the data:

- `text_batches`, or `reads`: pairs of reads and haplotypes, from text or from alignments, whose
  qualities are prepared as GATK prepares them,
- `forward`: the forward algorithm,
- `normalize`: likelihoods capped as GATK caps them.

`batches` holds pairs as arrays, `cuda` those of a GPU and their launch, `model` the parameters.
`pipeline` writes tables, `api` is `hapgpu.pair_hmm`, whose arguments `inputs` checks.
"""
