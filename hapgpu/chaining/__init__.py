"""Long-read mapping by minimizers and chains, as in minimap2.

The stages, in the order of the data:

- `sketch`: bases to minimizers,
- `index`: the minimizers of a reference, and their look-up,
- `seeds`: minimizers to seeds,
- `anchors`: seeds to sorted anchors,
- `scores`: anchors to best scores,
- `chains`: scores to chains,
- `join`: chains joined over long gaps,
- `mappings`: chains to reported mappings,
- `align`: base alignments of mappings, if they are wanted,
- `quality`: divergence and mapping quality of mappings,
- `output`: lines of PAF and SAM.

`sort` is minimap2's sort, which several stages use. `options` holds the user's options,
`parameters` the numbers derived from them, `batches` the arrays between stages. `run` runs the
stages in order; `pipeline` is the run of `hapgpu chain` from files to a file, `api` is
`hapgpu.chain`.
"""
