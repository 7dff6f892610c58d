__author__ = "The hapgpu developers"
__copyright__ = "Copyright 2026, The hapgpu developers"
__license__ = "MIT"

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=True, stderr=True)

json = snakemake.output.get("json")
json = ["--json", json] if json else []

targets = snakemake.input.get("targets")
targets = ["--targets-file", targets] if targets else []

shell(
    "hapgpu call --quiet --threads {snakemake.threads} {json:q} {targets:q} {extra}"
    " {snakemake.input.reads:q} {snakemake.input.reference:q}"
    " -o {snakemake.output[0]:q} {log}"
)
