"""Genotypes of known sites, from aligned reads and the pair-HMM.

The stages, in the order of the data:

- `hapgpu.haplotypes`: sites of a VCF to loci and candidate haplotypes,
- `reads`: aligned reads at each group of loci, clipped to them, grouped by fragment, with
  likelihoods of `hapgpu.pairhmm`,
- `calls`: genotype likelihoods, priors, genotypes, lines of VCF.

`batches` holds the arrays between stages. `genotyper` runs the stages in order, which `cpu` and
`cuda` fill in. `pipeline` opens the inputs of a run and writes a VCF, `api` is `hapgpu.genotype`.
"""
