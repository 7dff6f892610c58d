"""samtools as a child process, which converts SAM and CRAM."""
