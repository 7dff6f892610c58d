"""Haplotypes: read from FASTA, or made from the sites of a VCF.

The stages, in the order of the data:

- `sites`: VCF records to sites, shift ranges and loci; combinations of alleles to candidate
  haplotypes, phased or not,
- `pairing`: haplotypes of a FASTA, and pairs of reads and haplotypes.

`batches` holds sites, loci and haplotypes; `locus_batches` is the stream of them.
`pipeline` is the run of `hapgpu haplotypes`.
"""
