"""Short reads mapped by an FM index: every hit with at most one error.

The stages, in the order of the data:

- `index`: the FM index of a reference: built, kept in a file, loaded,
- `search`: reads to hits,
- `sam`: hits to lines of SAM.

`run` puts the stages into their order, `api` is `hapgpu.FMIndex`.
"""
