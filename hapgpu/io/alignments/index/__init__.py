"""Indexes of BAM and CRAM (BAI, CSI, CRAI), checked against their files."""
