"""Command lines of GATK HaplotypeCaller, translated for `hapgpu call`."""
