"""DRAGstr: gap penalties of the pair-HMM by the tandem repeats of reads, from a parameter file."""
