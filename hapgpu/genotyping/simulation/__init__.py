"""Samples of which every genotype is known: variants, chromosome copies, reads and alignments.

`variants` draws what a sample carries (`tandem_runs` finds the repeats that it changes), which is
a `phased_variants.PhasedVariants`; `unlisted` adds what a list of sites lacks; `copies` writes out
its chromosomes; `fragments` and `reads` draw paired reads from them, `alignments` aligns these as
the truth is; `sample` does all of this for whole chromosomes.
"""
