"""Long reads seeded by minimizers and chained, as minimap2 does it.

The index of a reference is made by `build` (`minimizers`, sorted in `grouping`), is an
`index_data.MinimizerIndex`, lies in `files`, and is had by `opening`. What the user chose is in
`options`, the numbers that follow from it in `rules`.

Reads go, on the CPU and on a GPU, through stages whose arrays are those of `batches`. A module of
the CPU has a twin of the same name with `_cuda`; those of `cpu` are `segments_cuda` and `cuda`.

1. `hapgpu.io.read_spans`: text to places of names and bases,
2. `minimizers` (`slots`): bases to minimizers,
3. `seeds` (`lookup`, and what is dropped in `frequent` and `repeats`): minimizers to seeds,
4. `anchors`: seeds to anchors, in the order of `radix_order`,
5. `cpu`: anchors to scores and predecessors,
6. `backtracking`: scores to chains,
7. `long_join` (`join_scores`): chains to longer chains,
8. `regions` (`parents`, `selection`, `seed_counts`): chains to the regions that are kept,
9. `mapping_quality`, then `paf`, on the host: regions to lines of PAF.

`stages` puts 2 to 8 into this order, `chainer` and `cuda_chainer` all of it. Anchors that come from
outside are checked by `ready_anchors` and go through 5 and 6 in `anchor_chains`; `api` is what
`hapgpu.chain` is. `reference` is the textbook form that all of it is checked against, `successors`
the method of Sadasivan et al. 2023 that it is compared with.
"""
