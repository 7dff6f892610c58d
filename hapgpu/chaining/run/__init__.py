"""Runs of all stages in order: blocks of reads to lines, one module per device.

`reference` is the reference implementation of all stages, one read and one step at a time. It
follows minimap2 2.30 without base alignment (Li 2018, Bioinformatics 34:3094; Li 2021,
Bioinformatics 37:4572), whose chains Sadasivan et al. (2023) compute on GPUs. It shares only
options and parameters with the compiled stages.
"""
