__author__ = "The hapgpu developers"
__copyright__ = "Copyright 2026, The hapgpu developers"
__license__ = "MIT"

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=True, stderr=True)

reference = snakemake.input.get("reference")
reference = ["--reference", reference] if reference else []

index = ["--write-index"] if snakemake.output.get("idx") else []

json = snakemake.output.get("json")
json = ["--json", json] if json else []

shell(
    "hapgpu realign --quiet --threads {snakemake.threads} {reference:q} {index:q} {json:q} {extra}"
    " {snakemake.input.reads:q} {snakemake.input.haplotypes:q} -o {snakemake.output[0]:q} {log}"
)
