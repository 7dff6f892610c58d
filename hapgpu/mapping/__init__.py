"""Short-read mapping with an FM index: every hit with at most one error.

The stages, in the order of the data:

- `index`: the FM index of a reference: build, save, load,
- `search`: reads to hits,
- `sam`: hits to SAM records.

`run` runs the stages in order, one module per device; `pipeline` is the run of `hapgpu map` from
files to a file, `api` is `hapgpu.FMIndex`.
"""
