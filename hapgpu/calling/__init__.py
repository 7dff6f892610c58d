"""Variant discovery by GATK HaplotypeCaller's algorithm."""
