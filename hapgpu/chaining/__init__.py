"""Long reads mapped by minimizers and chains, as minimap2 does it.

The stages, in the order of the data:

- `sketch`: bases to minimizers,
- `index`: the minimizers of a reference, and look-up,
- `seeds`: minimizers to seeds,
- `anchors`: seeds to sorted anchors,
- `scores`: anchors to best scores,
- `chains`: scores to chains,
- `join`: chains joined over long gaps,
- `mappings`: chains to the mappings that are reported,
- `quality`: their divergence and mapping quality,
- `output`: lines of PAF.

`sort` is minimap2's sort, which several stages use. `options` holds what the user chose,
`parameters` the numbers that follow from it, `batches` the arrays between stages. `run` puts the
stages into their order, `api` is `hapgpu.chain`.
"""
