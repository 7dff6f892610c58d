"""Files in and out: columns of reads from BAM, SAM, CRAM and FASTQ, and back."""
