"""Variant discovery by GATK HaplotypeCaller's algorithm.

The stages of a segment, in the order of the data:

- `reads`: reads at a segment, filtered and downsampled; then clipped to active regions,
- `regions`: active and inactive regions,
- `assembly`: haplotypes of active regions, from graphs of k-mers,
- `events`: variants of haplotypes, trimmed regions, and the alleles of sites,
- `genotypes`: likelihoods of reads given haplotypes (by the pair-HMM), and given alleles; alleles
  that are kept, QUAL, genotypes, INFO fields and depths,
- `output`: header and lines of VCF, and realigned reads; for a genomic VCF, confidence of
  positions, blocks and phases.

`pipeline` runs them, from open inputs to complete files; `segment_calls` has the result of a
segment, and the steps that VCF and genomic VCF do not share. `batches` holds the arrays between
stages, `options` the user's options. `api` is `hapgpu.call`.
"""
