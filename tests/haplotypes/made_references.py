"""References and chromosome copies for tests, in plain Python."""

from __future__ import annotations

import numpy as np

from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.simulation.phased_variants import PhasedVariants


def random_text(length: int, seed: int = 1) -> str:
    """Return random bases, with a tandem repeat of 5 to 15 units about every 250 bases."""
    rng = np.random.default_rng(seed)
    parts: list[str] = []
    while sum(map(len, parts)) < length:
        parts.append("".join(rng.choice(list("ACGT"), int(rng.integers(100, 400)))))
        unit = "".join(rng.choice(list("ACGT"), int(rng.integers(1, 5))))
        parts.append(unit * int(rng.integers(5, 16)))
    return "".join(parts)[:length]


def slice_of(text: str, start: int = 0) -> ReferenceSlice:
    """Return text as the bases of a contig from position `start` on."""
    return ReferenceSlice(start, np.frombuffer(text.encode(), dtype=np.uint8))


def copy_texts(text: str, variants: PhasedVariants, start: int = 0) -> list[str]:
    """Return the text of each chromosome copy: REF replaced by the alleles of the copy."""
    copies = []
    for copy in range(variants.ploidy):
        parts, at = [], 0
        for variant, position in enumerate(variants.starts.tolist()):
            alleles = variants.texts(variant)
            carried = variants.genotypes[variant, copy]
            if carried:
                parts += [text[at : position - start], alleles[carried]]
                at = position - start + len(alleles[0])
        copies.append("".join([*parts, text[at:]]))
    return copies
