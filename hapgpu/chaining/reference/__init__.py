"""Long reads chained in textbook form, one read and one step at a time: the oracle of the stages.

Follows minimap2 2.30 without base alignment (Li 2018, Bioinformatics 34:3094; Li 2021,
Bioinformatics 37:4572), whose chains Sadasivan et al. (2023) compute on GPUs. Nothing here is fast,
and nothing is shared with the compiled stages but the options and the numbers of the rules:

    sequence ─ sketch ─► minimizers ─ seeds ─► seeds ─ anchors ─► anchors ─ scores ─► scores
    scores ─ chains ─► chains ─ join ─► chains ─ regions, parents ─► regions ─ quality ─► lines

    reference ─ sketch ─► minimizers ─ index ─► where each of them occurs

`order` is minimap2's sort, which several steps use; `paf` puts all of them together.
"""
