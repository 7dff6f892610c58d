"""Haplotypes: read from FASTA, or made from the sites of a VCF.

In the order of the data:

- `sites`: VCF records to sites, shift ranges and loci,
- `candidates`: alleles combined to candidate haplotypes, phased or not,
- `pairing`: haplotypes of a FASTA, and those that each read is compared with.

`batches` holds sites, loci and haplotypes; `locus_batches` is the stream of them.
"""
