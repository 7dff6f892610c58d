"""samtools as a child process that converts SAM and CRAM."""
