"""Dot plot: mappings as lines between positions on contigs and positions on reads.

It shows all reads of a small file, one in N of a large file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.report.charts import COLOURS, Spec
from hapgpu.report.mapping_lines import PafColumn

MAX_SEGMENTS: Final = 6000


class DrawnReads:
    """Mappings of every N-th read; N doubles when they become too many.

    Of a read with too many mappings, the longest are kept.

    Attributes
    ----------
    stride
        N.
    is_cut
        Whether shorter mappings of a read are left out.
    columns
        int64[n, columns]: the mappings, as in `PafColumn`; `READ` and `CONTIG` replace two of them.
    """

    READ: Final = PafColumn.QUERY
    CONTIG: Final = PafColumn.TARGET

    def __init__(self) -> None:
        self.stride = 1
        self.is_cut = False
        self.columns = np.empty((0, len(PafColumn)), dtype=np.int64)
        self._names: dict[int, str] = {}

    def add(
        self,
        text: NDArray[np.uint8],
        columns: NDArray[np.int64],
        reads: NDArray[np.int64],
        contigs: NDArray[np.int64],
    ) -> None:
        """Keep the mappings of some reads.

        Parameters
        ----------
        text
            uint8: the lines.
        columns
            int64[n, columns]: their columns, in the order of the file.
        reads, contigs
            int64[n]: number of the read in the file, and of the contig.
        """
        is_kept = reads % self.stride == 0
        while len(self.columns) + np.count_nonzero(is_kept) > MAX_SEGMENTS and (
            self._can_thin(reads[is_kept])
        ):
            self.stride *= 2
            self.columns = self.columns[self.columns[:, self.READ] % self.stride == 0]
            is_kept = reads % self.stride == 0
        kept = columns[is_kept]
        self._keep_names(text, kept, reads[is_kept])
        kept[:, self.READ], kept[:, self.CONTIG] = reads[is_kept], contigs[is_kept]
        self.columns = np.concatenate([self.columns, kept])
        if len(self.columns) > MAX_SEGMENTS:
            spans = self.columns[:, PafColumn.TARGET_STOP] - self.columns[:, PafColumn.TARGET_START]
            longest = np.argsort(-spans, kind="stable")[:MAX_SEGMENTS]
            self.columns = self.columns[np.sort(longest)]
            self.is_cut = True

    def _can_thin(self, reads: NDArray[np.int64]) -> bool:
        """Tell whether there are several reads: the mappings of one read stay together."""
        return np.unique(np.append(self.columns[:, self.READ], reads)).size > 1

    def _keep_names(
        self, text: NDArray[np.uint8], kept: NDArray[np.int64], reads: NDArray[np.int64]
    ) -> None:
        numbers, first = np.unique(reads, return_index=True)
        starts, ends = kept[first, PafColumn.QUERY], kept[first, PafColumn.QUERY_END]
        names = Ragged.gather(text, starts, ends - starts)
        self._names = {
            number: name for number, name in self._names.items() if number % self.stride == 0
        }
        for number, name in zip(numbers.tolist(), names, strict=True):
            self._names[number] = name.tobytes().decode("utf-8", "replace")

    def names(self) -> Iterator[str]:
        """Yield the name of the read of each mapping."""
        return (self._names[number] for number in self.columns[:, self.READ].tolist())


_HEIGHT: Final = 420
_MAX_CHOICES: Final = 100
_LABEL_SHARE: Final = 0.04
_STRANDS: Final = ("forward", "reverse", "secondary")


def dot_plot(drawn: DrawnReads, names: list[str], lengths: list[int]) -> Spec:
    """Return the plot of all reads, ordered by their position, on all contigs end to end.

    Parameters
    ----------
    drawn
        At least one mapping.
    names, lengths
        Of the contigs.
    """
    columns = drawn.columns
    contig_starts = np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))])
    read_starts = _read_starts(columns, contig_starts)
    values = _segments(drawn, names)
    across = contig_starts[columns[:, DrawnReads.CONTIG]]
    for value, shift, up in zip(values, across.tolist(), read_starts.tolist(), strict=True):
        value["x"], value["x2"] = value["from"] + shift, value["to"] + shift
        value["y"], value["y2"] = value["y"] + up, value["y2"] + up
    total = int(contig_starts[-1])
    return {
        "height": _HEIGHT,
        "usermeta": {"renderer": "canvas"},
        "layer": [
            *_boundaries(names, lengths, contig_starts),
            {
                "data": {"values": values},
                "mark": {"type": "rule", "strokeWidth": 2, "strokeCap": "round"},
                "encoding": {
                    **_positions("position on the contigs (bases)", [0, total]),
                    "y": {**_axis("y", "reads by position (bases)"), "sort": None},
                    "y2": {"field": "y2"},
                    **_look(),
                },
            },
        ],
    }


def read_plot(drawn: DrawnReads, names: list[str]) -> Spec | None:
    """Return the plot of one read, which the reader of the page chooses.

    Offered are the reads with the most primary mappings, at least two; None if there are none.
    """
    columns = drawn.columns
    primary = columns[columns[:, PafColumn.SECONDARY] == 0]
    reads, counts = np.unique(primary[:, DrawnReads.READ], return_counts=True)
    split = np.flatnonzero(counts > 1)
    order = split[np.argsort(-counts[split], kind="stable")][:_MAX_CHOICES]
    if not order.size:
        return None
    is_offered = np.isin(columns[:, DrawnReads.READ], reads[order])
    values = [
        value for value, offered in zip(_segments(drawn, names), is_offered, strict=True) if offered
    ]
    choices = list(dict.fromkeys(value["read"] for value in values))
    return {
        "height": 300,
        "data": {"values": values},
        "params": [
            {
                "name": "shown_read",
                "value": choices[0],
                "bind": {"input": "select", "options": choices, "name": "read "},
            }
        ],
        "transform": [{"filter": "datum.read == shown_read"}],
        "mark": {"type": "rule", "strokeWidth": 3, "strokeCap": "round"},
        "encoding": {
            "x": {**_axis("from", "position on the contig (bases)")},
            "x2": {"field": "to"},
            "y": _axis("y", "position on the read (bases)"),
            "y2": {"field": "y2"},
            "detail": {"field": "contig"},
            **_look(),
        },
    }


def _segments(drawn: DrawnReads, names: list[str]) -> list[Spec]:
    """Return the mappings as lines; on the reverse strand, they fall."""
    columns = drawn.columns
    is_reverse = columns[:, PafColumn.REVERSE] == 1
    bottoms = np.where(is_reverse, columns[:, PafColumn.END], columns[:, PafColumn.START])
    tops = np.where(is_reverse, columns[:, PafColumn.START], columns[:, PafColumn.END])
    strands = np.where(columns[:, PafColumn.SECONDARY] == 1, 2, is_reverse)
    numbers = (
        columns[:, DrawnReads.CONTIG],
        columns[:, PafColumn.TARGET_START],
        columns[:, PafColumn.TARGET_STOP],
        bottoms,
        tops,
        strands,
        columns[:, PafColumn.QUALITY],
    )
    rows = zip(drawn.names(), *(column.tolist() for column in numbers), strict=True)
    return [
        {
            "read": read,
            "contig": names[contig],
            "from": start,
            "to": end,
            "y": bottom,
            "y2": top,
            "strand": _STRANDS[strand],
            "mapq": quality,
        }
        for read, contig, start, end, bottom, top, strand, quality in rows
    ]


def _read_starts(columns: NDArray[np.int64], contig_starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[n]: where the read of each mapping starts, in the order of their positions."""
    positions = contig_starts[columns[:, DrawnReads.CONTIG]] + columns[:, PafColumn.TARGET_START]
    spans = columns[:, PafColumn.TARGET_STOP] - columns[:, PafColumn.TARGET_START]
    spans = np.where(columns[:, PafColumn.SECONDARY] == 1, 0, spans)
    longest_first = np.lexsort((-spans, columns[:, DrawnReads.READ]))
    _, first, inverse = np.unique(
        columns[longest_first, DrawnReads.READ], return_index=True, return_inverse=True
    )
    best = longest_first[first]
    order = np.argsort(positions[best], kind="stable")
    starts = np.empty(best.size, dtype=np.int64)
    lengths = columns[best[order], PafColumn.LENGTH]
    starts[order] = np.cumsum(lengths) - lengths
    of_mapping = np.empty(len(columns), dtype=np.int64)
    of_mapping[longest_first] = starts[inverse]
    return of_mapping


def _boundaries(names: list[str], lengths: list[int], starts: NDArray[np.int64]) -> list[Spec]:
    """Return layers with a line at the start of each contig, and the names of the long ones."""
    if len(names) == 1:
        return []
    total = max(int(starts[-1]), 1)
    rules = [{"at": at} for at in starts[1:-1].tolist()]
    words = [
        {"at": at + length / 2, "name": name}
        for name, length, at in zip(names, lengths, starts.tolist(), strict=False)
        if length >= _LABEL_SHARE * total
    ]
    x = {"field": "at", "type": "quantitative"}
    return [
        {
            "data": {"values": rules},
            "mark": {"type": "rule", "color": COLOURS[4], "strokeWidth": 0.5, "opacity": 0.6},
            "encoding": {"x": x},
        },
        {
            "data": {"values": words},
            "mark": {"type": "text", "color": COLOURS[4], "baseline": "top", "limit": 90},
            "encoding": {"x": x, "y": {"value": 4}, "text": {"field": "name"}},
        },
    ]


def _axis(field: str, title: str) -> Spec:
    scale = {"zero": False, "nice": False}
    axis = {"format": "~s"}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _positions(title: str, domain: list[int]) -> Spec:
    axis = _axis("x", title)
    axis["scale"] = {"domain": domain, "nice": False}
    return {"x": axis, "x2": {"field": "x2"}}


def _look() -> Spec:
    return {
        "color": {
            "field": "strand",
            "type": "nominal",
            "title": None,
            "scale": {"domain": list(_STRANDS), "range": [COLOURS[0], COLOURS[1], COLOURS[4]]},
        },
        "tooltip": [
            {"field": "read"},
            {"field": "contig"},
            {"field": "from", "type": "quantitative", "format": ","},
            {"field": "to", "type": "quantitative", "format": ","},
            {"field": "strand"},
            {"field": "mapq", "title": "MAPQ"},
        ],
    }
