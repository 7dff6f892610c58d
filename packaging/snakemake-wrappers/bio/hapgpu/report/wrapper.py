__author__ = "The hapgpu developers"
__copyright__ = "Copyright 2026, The hapgpu developers"
__license__ = "MIT"

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=True, stderr=True)

reads = snakemake.input.get("reads", [])
reads = [reads] if isinstance(reads, str) else reads
reads = [word for file in reads for word in ("--reads", file)]

reference = snakemake.input.get("reference")
reference = ["--reference", reference] if reference else []

json = snakemake.output.get("json")
json = ["--json", json] if json else []

shell(
    "hapgpu report --quiet --threads {snakemake.threads} {reads:q} {reference:q} {json:q} {extra}"
    " {snakemake.input.files:q} -o {snakemake.output[0]:q} {log}"
)
