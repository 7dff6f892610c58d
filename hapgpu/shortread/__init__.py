"""Short-read mapping with an FM index: every hit with at most one error.

The stages, in the order of the data:

- `index`: the FM index of a reference: build, save, load,
- `search`: reads to hits,
- `sam`: hits to SAM records.

`pipeline` runs them, from files to a file; `cpu` and `cuda` run them on a block of reads. `api` is
`hapgpu.FMIndex`.
"""
