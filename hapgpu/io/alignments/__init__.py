"""Files of aligned reads: BAM, CRAM and SAM in and out, indexes, records as FASTQ."""
