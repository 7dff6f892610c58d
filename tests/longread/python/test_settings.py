"""Settings that `hapgpu.LongReadIndex` refuses, and what it does without a choice."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import hapgpu
from hapgpu.errors import DeviceError, UsageError
from hapgpu.longread.options import PRESETS
from hapgpu.longread.setting_values import checked_settings
from hapgpu.longread.settings import AlignSettings, MapSettings, SketchSettings
from tests.cli.chain.command import Sample
from tests.longread.python.test_reads import columns_of

LARGE = 2**31


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bandwidth": 500}, "bandwidth: unknown setting; give one of all_chains, bandwidths, "),
        ({"gap_open": 4}, "gap_open: unknown setting; give one of "),
        ({"max_gap": -1}, "max_gap=-1: out of range; give a whole number from 0 to 2,147,483,647"),
        ({"max_gap": LARGE}, f"max_gap={LARGE}: out of range; give a whole number from 0 to "),
        ({"max_gap": 5.0}, "max_gap=5.0: out of range; give a whole number from 0 to "),
        ({"min_count": True}, "min_count=True: out of range; give a whole number from 0 to "),
        ({"cutoffs": (1, 2, 3)}, "cutoffs=(1, 2, 3): not one or two numbers; give one, or a "),
        ({"cutoffs": (5,)}, "cutoffs=(5,): not one or two numbers; give one, or a tuple of two"),
        ({"cutoffs": ()}, "cutoffs=(): not one or two numbers; give one, or a tuple of two"),
        ({"bandwidths": (1, "2")}, "bandwidths='2': out of range; give a whole number from 0 to "),
        ({"bandwidths": (501, 500)}, "-r 501,500: the first number is larger; reduce it"),
        ({"bandwidths": (1, 200_001)}, "-r 1,200001: must be at most 200,000"),
        ({"mask_level": 1.5}, "mask_level=1.5: out of range; give a number from 0 to 1"),
        ({"score_ratio": -0.5}, "score_ratio=-0.5: out of range; give a number from 0 to 1"),
        ({"read_fraction": float("nan")}, "read_fraction=nan: out of range; give a number from 0"),
        (
            {"repetitive": "3"},
            "repetitive='3': out of range; give a number from 0 to 2,147,483,647",
        ),
        ({"secondary": "no"}, "secondary='no': neither True nor False; give one of them"),
        ({"all_chains": 1}, "all_chains=1: neither True nor False; give one of them"),
        (
            {"all_chains": True, "secondary": False},
            "-P: contradicts --secondary=no or -N 0; drop one of them",
        ),
    ],
)
def test_wrong_settings(
    index: hapgpu.LongReadIndex, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        index.map(["ACGT"], device="cpu", **settings)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"match": 0}, "-A 0: must be from 1 to 121 with -O 4,24 -E 2,1; change it"),
        ({"gap_open": (4, 121)}, "-O 4,121 -E 2,1: their sum must be at most 127; reduce them"),
        ({"drops": (1, 2)}, "-z 1,2: the second number is larger; reduce it"),
        ({"cap_sw_mem": 2**53}, "cap_sw_mem=9007199254740992: out of range; give a whole number"),
        ({"eqx": None}, "eqx=None: neither True nor False; give one of them"),
        ({"paf_no_hit": True}, "paf_no_hit: unknown setting; give one of all_chains, ambiguous, "),
    ],
)
def test_wrong_settings_of_alignments(
    index: hapgpu.LongReadIndex, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        index.align(["ACGT"], **settings)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kmer": 29}, "kmer=29: out of range; give a whole number from 1 to 28"),
        ({"kmer": 0}, "kmer=0: out of range; give a whole number from 1 to 28"),
        ({"window": 256}, "window=256: out of range; give a whole number from 1 to 255"),
        ({"hpc": 1}, "hpc=1: neither True nor False; give one of them"),
        ({"threads": 0}, "threads=0: out of range; give a whole number from 1, or None"),
        ({"preset": "sr"}, "preset 'sr': unknown; give one of map-ont, map-pb, map-hifi, lr:hq"),
        ({"max_gap": 5}, "max_gap: unknown setting; give one of hpc, kmer, window"),
    ],
)
def test_wrong_settings_of_an_index(sample: Sample, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        hapgpu.LongReadIndex.build(sample.fasta, **settings)
    assert str(raised.value).startswith(message)


def test_every_setting_has_a_check() -> None:
    """A setting takes the smallest value of its kind, and no text."""
    smallest = {"kmer": 1, "window": 1}
    for kind in (SketchSettings, MapSettings, AlignSettings):
        known = kind.__optional_keys__
        assert not kind.__required_keys__
        for name, text in inspect.get_annotations(kind).items():
            is_flag = getattr(text, "__forward_arg__", text) == "bool"
            checked_settings({name: False if is_flag else smallest.get(name, 0)}, known)
            with pytest.raises(UsageError, match=f"^{name}='x': "):
                checked_settings({name: "x"}, known)
            with pytest.raises(UsageError, match=f"^{name}=.*: (out of range|neither)"):
                checked_settings({name: 0 if is_flag else False}, known)


def test_numbers_of_numpy(index: hapgpu.LongReadIndex, sample: Sample) -> None:
    reads = list(sample.reads.values())[:5]
    plain: dict[str, Any] = {"max_gap": 500, "mask_level": 0.25, "secondary": False}
    expected = index.map(reads, device="cpu", threads=1, cutoffs=(5, 50), **plain)
    of_numpy: dict[str, Any] = {
        "max_gap": np.int64(500),
        "mask_level": np.float32(0.25),
        "secondary": np.False_,
        "cutoffs": [np.uint8(5), 50],
    }
    mapped = index.map(reads, device="cpu", threads=1, **of_numpy)
    assert columns_of(mapped) == columns_of(expected)


def test_devices(index: hapgpu.LongReadIndex) -> None:
    with pytest.raises(UsageError, match=r"^device 'gpu': unknown; give auto, cpu, cuda"):
        index.map(["ACGT"], device="gpu")
    with pytest.raises(DeviceError, match=r"^device 'cuda:99': "):
        index.map(["ACGT"], device="cuda:99")
    with pytest.raises(DeviceError, match=r"^device 'cuda:99': "):
        index.align(["ACGT"], device="cuda:99")


def test_presets_are_kept(sample: Sample) -> None:
    for name, options in PRESETS.items():
        index = hapgpu.LongReadIndex.build(sample.fasta, preset=name, threads=1)
        assert (index.preset, index.k, index.w) == (name, options.sketch.k, options.sketch.w)
        assert index.data.sketch == options.sketch


def test_own_minimizers(sample: Sample) -> None:
    index = hapgpu.LongReadIndex.build(sample.fasta, kmer=14, window=7, hpc=True, threads=1)
    assert (index.k, index.w, index.data.sketch.is_hpc) == (14, 7, True)
    index = hapgpu.LongReadIndex.build(sample.fasta, preset="map-pb", hpc=False, threads=1)
    assert not index.data.sketch.is_hpc
