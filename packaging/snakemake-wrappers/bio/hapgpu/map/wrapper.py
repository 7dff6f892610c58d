__author__ = "The hapgpu developers"
__copyright__ = "Copyright 2026, The hapgpu developers"
__license__ = "MIT"

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=True, stderr=True)

index = snakemake.input.get("index")
is_cram = snakemake.output[0].endswith(".cram")  # compressed with the bases of the reference
reference = index if index and not is_cram else snakemake.input.reference

json = snakemake.output.get("json")
json = ["--json", json] if json else []

shell(
    "hapgpu map --quiet --threads {snakemake.threads} {json:q} {extra}"
    " {reference:q} {snakemake.input.reads:q} -o {snakemake.output[0]:q} {log}"
)
