"""GATK's preparation of qualities, and its PCR model."""
