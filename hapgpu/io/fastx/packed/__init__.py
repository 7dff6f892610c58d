"""FASTQ in BGZF files, inflated and cut at records on a GPU."""
