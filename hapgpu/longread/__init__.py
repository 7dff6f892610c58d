"""Long-read mapping by minimizers and chains, as in minimap2.

The stages, in the order of the data:

- `index`: bases to minimizers; those of a reference, and their look-up,
- `seed`: minimizers to seeds, seeds to sorted anchors,
- `chain`: anchors to best scores, scores to chains, chains joined over long gaps,
- `mappings`: chains to mappings, their divergences and mapping qualities,
- `align`: base alignments of mappings, if they are wanted,
- `output`: lines of PAF and SAM.

`pipeline` runs them, from files to a file. `stages` has the order up to the mappings, for both
devices; `cpu` and `cuda` fill its table of stages. `groups` divides blocks whose anchors are too
many. `options` holds the user's options, `parameters` the numbers derived from them, `batches` the
arrays between stages. `api` is `hapgpu.chain_anchors`.
"""
