"""Mapping through an FM index: every place where a read fits with at most one error.

The index is made by `build` (passes in `encoding` and `layout`, suffixes sorted in `suffix_array`
or `prefix_doubling`), is an `index_data.IndexData`, lies in `files`, and is had by `opening`.

Reads go, on the CPU and on a GPU, through

1. `hapgpu.io.read_spans`, `read_spans_cuda`: text to places of names, bases and qualities,
2. `packing`, `cuda`: bases to planes of bits,
3. `cpu` (`seeds`, then `candidates`, in a `compiled_index`), `cuda`: planes to `hits`,
4. `sam_cpu`, `sam_cuda`: hits to lines of SAM (other `sam_…` modules write its fields),

which `mapper` and `cuda_mapper` put together. `reference` is the textbook search that all of it is
checked against, `backtracking` the search of Seide 2012 that it is compared with.
"""
