__author__ = "The hapgpu developers"
__copyright__ = "Copyright 2026, The hapgpu developers"
__license__ = "MIT"

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=True, stderr=True)

reads = snakemake.input.get("reads")
reads = ["--reads", reads] if reads else []

reference = snakemake.input.get("reference")
reference = ["--reference", reference] if reference else []

shell(
    "hapgpu report {reads:q} {reference:q} {extra}"
    " {snakemake.input.files:q} -o {snakemake.output[0]:q} {log}"
)
