"""Index files: written whole, checked whole, and used where they lie.

A file begins with a magic number, the version of the format, and the size and CRC-32 of a header
in JSON; the arrays follow, each aligned to `ALIGNMENT` bytes. The header names them, with the
CRC-32 of every piece of theirs, and holds what is no array. Nothing in it depends on when, where
or by which device the index was built.
"""

from __future__ import annotations

import json
import mmap
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from hapgpu.device import usable_cpus
from hapgpu.errors import InputError
from hapgpu.fmindex.encoding import block_count
from hapgpu.fmindex.fasta_digest import digest_fasta
from hapgpu.fmindex.index_data import BLOCK, Contigs, IndexData, ReferenceBases, SuffixSamples
from hapgpu.io.output import OutputFile

SUFFIX: Final = ".hgx"
MAGIC: Final = b"\x89HGX\r\n\x1a\n"  # as of PNG: no text, and broken by a change of line ends
VERSION: Final = 1
ALIGNMENT: Final = 64
PIECE_BYTES: Final = 1 << 26
"""So many bytes have a checksum of their own, so that several threads can verify an array."""

_PRELUDE = struct.Struct("<8sIII")  # magic, version, size and CRC-32 of the header
_LONGEST_JUMP: Final = 16
_DTYPES: Final[dict[str, type[np.generic]]] = {
    "contig_offsets": np.int64,
    "planes": np.uint64,
    "others": np.uint64,
    "letter_positions": np.int64,
    "letters": np.uint8,
    "occurrences": np.uint32,
    "jump": np.uint32,
    "suffixes": np.uint32,
    "sample_marks": np.uint64,
    "sample_ranks": np.uint32,
    "sample_positions": np.uint32,
}
_Arrays = dict[str, NDArray[Any]]


def default_index_path(fasta: str | Path) -> Path:
    """Return where the index of a FASTA file lies: beside it."""
    return Path(f"{fasta}{SUFFIX}")


def save_index(index: IndexData, path: str | Path) -> None:
    """Write an index, whole or not at all.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    arrays = _arrays_of(index)
    header = json.dumps(_header_of(index, arrays), separators=(",", ":")).encode()
    prelude = _PRELUDE.pack(MAGIC, VERSION, len(header), isal_zlib.crc32(header))
    with OutputFile(path) as output:
        output.write(prelude + header + _filling(len(prelude) + len(header)))
        for array in arrays.values():
            output.write(array.view(np.uint8).data)
            output.write(_filling(array.nbytes))


def load_index(path: str | Path) -> IndexData:
    """Map an index into memory, read-only, and verify every byte of its arrays.

    Raises
    ------
    InputError
        The file is missing, is no index, is of another version, cut short or damaged.
    """
    content = _map_file(Path(path))
    try:
        header, data = _read_header(content, path)
        index = _index_of(header, _find_arrays(header["arrays"], data))
        is_consistent = _is_consistent(index)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        _refuse(path, f"damaged ({error})", error)
    if not is_consistent:
        _refuse(path, "damaged (its arrays do not fit each other)")
    return index


def check_index_belongs(index: IndexData, index_path: str | Path, fasta: str | Path) -> None:
    """Make sure that an index was made of a FASTA file as it is now.

    Raises
    ------
    InputError
        It was not, or the FASTA file cannot be read.
    """
    if (index.fasta_bytes, index.fasta_sha256) == digest_fasta(fasta):
        return
    target = "" if Path(index_path) == default_index_path(fasta) else f" -o {index_path}"
    raise InputError(
        f"{index_path}: made of another FASTA file than {fasta} (or that has changed since);"
        f" run: hapgpu index {fasta}{target}"
    )


def _arrays_of(index: IndexData) -> _Arrays:
    bases, suffixes = index.bases, index.suffixes
    arrays: _Arrays = {
        "contig_offsets": index.contigs.offsets,
        "planes": bases.planes,
        "others": bases.others,
        "letter_positions": bases.letter_positions,
        "letters": bases.letters,
        "occurrences": index.occurrences,
        "jump": index.jump,
    }
    if isinstance(suffixes, SuffixSamples):
        arrays["sample_marks"] = suffixes.marks
        arrays["sample_ranks"] = suffixes.ranks
        arrays["sample_positions"] = suffixes.positions
    else:
        arrays["suffixes"] = suffixes
    return arrays


def _header_of(index: IndexData, arrays: _Arrays) -> dict[str, Any]:
    """Return what `_index_of` reads; offsets are counted from the first array."""
    entries, offset = [], 0
    for name, array in arrays.items():
        entries.append(
            {
                "name": name,
                "dtype": np.dtype(_DTYPES[name]).str,
                "offset": offset,
                "items": array.size,
                "crc32": _checksums(array.view(np.uint8)),
            }
        )
        offset += array.nbytes + len(_filling(array.nbytes))
    return {
        "contigs": index.contigs.names,
        "primary": index.primary,
        "jump_length": index.jump_length,
        "fasta_bytes": index.fasta_bytes,
        "fasta_sha256": index.fasta_sha256.hex(),
        "data_bytes": offset,
        "arrays": entries,
    }


def _index_of(header: dict[str, Any], arrays: _Arrays) -> IndexData:
    suffixes = arrays.get("suffixes")
    return IndexData(
        contigs=Contigs(tuple(header["contigs"]), arrays["contig_offsets"]),
        bases=ReferenceBases(
            arrays["planes"], arrays["others"], arrays["letter_positions"], arrays["letters"]
        ),
        occurrences=arrays["occurrences"],
        primary=header["primary"],
        jump=arrays["jump"],
        jump_length=header["jump_length"],
        suffixes=SuffixSamples(
            arrays["sample_marks"], arrays["sample_ranks"], arrays["sample_positions"]
        )
        if suffixes is None
        else suffixes,
        fasta_bytes=header["fasta_bytes"],
        fasta_sha256=bytes.fromhex(header["fasta_sha256"]),
    )


def _filling(size: int) -> bytes:
    """Return the zeros that follow `size` bytes up to the next aligned place."""
    return bytes(-size % ALIGNMENT)


def _checksums(data: NDArray[np.uint8]) -> list[int]:
    """Return the CRC-32 of each piece."""
    pieces = [data[at : at + PIECE_BYTES].data for at in range(0, data.size, PIECE_BYTES)]
    with ThreadPoolExecutor(usable_cpus()) as pool:
        return list(pool.map(isal_zlib.crc32, pieces))


def _map_file(path: Path) -> NDArray[np.uint8]:
    """uint8: the bytes of a file, which are read when they are used."""
    try:
        with path.open("rb") as file:
            if path.stat().st_size < _PRELUDE.size:
                _refuse(path, "no index of hapgpu")
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except FileNotFoundError:
        _refuse(path, "no such file")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _read_header(
    content: NDArray[np.uint8], path: str | Path
) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    """Return the header and the bytes of the arrays."""
    magic, version, size, checksum = _PRELUDE.unpack(content[: _PRELUDE.size].tobytes())
    if magic != MAGIC:
        _refuse(path, "no index of hapgpu")
    if version != VERSION:
        _refuse(path, f"an index of version {version}, and this hapgpu reads {VERSION}")
    text = content[_PRELUDE.size : _PRELUDE.size + size].tobytes()
    if isal_zlib.crc32(text) != checksum:
        _refuse(path, "cut short or damaged")
    header = json.loads(text)
    start = _PRELUDE.size + size + len(_filling(_PRELUDE.size + size))
    if content.size - start != header["data_bytes"]:
        _refuse(path, "cut short or damaged")
    return header, content[start:]


def _find_arrays(entries: list[dict[str, Any]], data: NDArray[np.uint8]) -> _Arrays:
    """Return the arrays by name.

    Raises
    ------
    KeyError, TypeError, ValueError
        One of them is not as it was written.
    """
    arrays: _Arrays = {}
    for entry in entries:
        name, start = entry["name"], entry["offset"]
        dtype = np.dtype(_DTYPES[name])
        part = data[start : start + dtype.itemsize * entry["items"]]
        if dtype.str != entry["dtype"] or _checksums(part) != entry["crc32"]:
            message = f"the checksum of its {name} is wrong"
            raise ValueError(message)
        arrays[name] = part.view(dtype)
    return arrays


def _is_consistent(index: IndexData) -> bool:
    """Tell whether the sizes are such that no look-up leaves an array."""
    offsets, bases, suffixes = index.contigs.offsets, index.bases, index.suffixes
    if offsets.size != len(index.contigs.names) + 1 or offsets[0] or (np.diff(offsets) < 1).any():
        return False
    if index.jump_length > _LONGEST_JUMP or index.jump.size != 4**index.jump_length + 1:
        return False
    blocks, rows = block_count(int(offsets[-1])), int(index.jump[-1])
    kept = (
        suffixes.marks.size == suffixes.ranks.size == -(-rows // BLOCK)
        if isinstance(suffixes, SuffixSamples)
        else suffixes.size == rows
    )
    return (
        kept
        and bases.planes.size == 2 * blocks
        and bases.others.size == blocks
        and bases.letter_positions.size == bases.letters.size
        and index.occurrences.size == 8 * ((rows - 1) // BLOCK + 1)
        and 0 < index.primary < rows
    )


def _refuse(path: str | Path, fault: str, cause: Exception | None = None) -> NoReturn:
    """Raise an InputError that says how to make the file anew."""
    fasta = str(path).removesuffix(SUFFIX)
    known = fasta != str(path) and Path(fasta).is_file()
    command = f"hapgpu index {fasta if known else 'REF.fa'}"
    if not known and _may_be_replaced(Path(path)):
        command += f" -o {path}"
    raise InputError(f"{path}: {fault}; run: {command}") from cause


def _may_be_replaced(path: Path) -> bool:
    """Tell whether an index may be written here: a file of reads, given by mistake, is kept."""
    return path.suffix == SUFFIX or not path.exists()
