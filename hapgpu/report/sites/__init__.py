"""The section of a VCF: a table of sites, and their reads before and after realignment."""
