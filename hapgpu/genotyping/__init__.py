"""Genotypes of known sites, and haplotypes from a VCF: reads weighed by GATK's pair-HMM.

The way of the data, nearly all of it in arrays:

1. `hapgpu.io.vcf` reads lines to records; `record_selection` takes those in regions,
   `record_slabs` some at a time, `reference_check` compares them with the reference;
2. `sites`: records of a contig to columns, `edits`: what their alleles change,
3. `extents`: how far the repeats reach in which an allele could as well be written,
4. `loci`: neighbouring sites to loci, which are genotyped together,
5. `choices`, or `phasing` where samples have genotypes (`sample_genotypes`): what may stand
   together on a haplotype,
6. `haplotypes` (`combinations`, `haplotype_sequences`): the candidates of each locus;
   `allele_table`: which allele each of them carries at each site.

`locus_batches` makes a stream of `locus_batch.LocusBatch` of all this; `haplotype_text` writes it
as FASTA. To genotype,

7. `aligned_reads` adds the reads at loci (`locus_spans`, `read_inputs`, `sorted_reads`,
   `read_rules`), and `samples` whose they are,
8. `windows`: the part of each read that a locus is to see, with `fragments` mates side by side,
9. `hapgpu.pairhmm`: the likelihood of each part given each haplotype,
10. `evidence`: how far each part is trusted, mates taken together,
11. `likelihoods`: of each genotype at each site (`genotype_order`), from the fragments that reach
    far enough (`reaches`); `priors` and `calls`: the genotypes,
12. `call_text` and `hapgpu.io.vcf_writer`: calls to lines.

`genotyper` puts 8 to 11 into this order, `session` opens what a run needs, `vcf_run` writes it all
to a VCF, `api` is what `hapgpu.genotype` is. The arrays from 7 on are those of `evidence_batch`.
`reference` is the textbook form of 10 and 11; `simulation` makes samples of which every genotype is
known, and `benchmark` measures with one of them (`benchmark_files`).
"""
