"""The section of a VCF: summary, table of sites, and their reads before and after realignment."""
