"""Ways to spoil a file of a release. A mutation is a list, as a table of rows holds it: operator, file, arguments.

A text that is too long for a table is written as ``{"repeat": [piece, times]}``, optionally with ``"then"``. Texts hold
bytes that are no UTF-8 as Python names them in file names: ``\\udcff`` is the byte 0xff.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

RAW = "\x00raw\x00"
Change = Callable[..., Any]


def mutate(root: Path, mutation: Sequence[Any]) -> None:
    """Spoil one file below `root`."""
    operator, file, *given = mutation
    path, arguments = root / file, [_expanded(value) for value in given]
    if operator in FILES:
        FILES[operator](path, *arguments)
    elif operator in CONTENTS:
        path.write_bytes(CONTENTS[operator](path.read_bytes(), *arguments))
    elif operator in JSON:
        _change_json(path, JSON[operator], *arguments)
    elif operator in TABLES:
        _change_table(path, TABLES[operator], *arguments)
    elif operator in PARQUET:
        pa.parquet.write_table(PARQUET[operator](pa.parquet.read_table(path), *arguments), path)
    else:
        ARCHIVES[operator](path, *arguments)


def _expanded(value: Any) -> Any:
    if isinstance(value, dict) and "repeat" in value:
        piece, times = value["repeat"]
        return piece * times + value.get("then", "")
    return value


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_bytes(text))


def _delete(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _in_place(make: Change) -> Change:
    """Put something else in the place of a file, which need not be there."""

    def put(path: Path, *arguments: Any) -> None:
        if path.exists() or path.is_symlink():
            _delete(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path, *arguments)

    return put


def _copy(path: Path, source: str) -> None:
    root = next(folder for folder in path.parents if (folder / source).exists())
    shutil.copyfile(root / source, path)


FILES: dict[str, Change] = {
    "write": _write,
    "delete": _delete,
    "rename": lambda path, name: os.rename(os.fsencode(path), os.fsencode(path.parent) + b"/" + _bytes(name)),  # noqa: PTH104
    # Another file of the base, named from the base's root.
    "copy": _in_place(_copy),
    "folder": _in_place(Path.mkdir),
    # A pipe, which whoever opens it waits for.
    "fifo": _in_place(os.mkfifo),
    "symlink": _in_place(Path.symlink_to),
}


def _replace(content: bytes, old: str, new: str, times: int = 1) -> bytes:
    assert _bytes(old) in content, old
    return content.replace(_bytes(old), _bytes(new), times)


def _scramble(content: bytes, start: float, length: int, byte: int = 0xFF) -> bytes:
    """Overwrite bytes from a share of the content on."""
    first = int(len(content) * start)
    return content[:first] + bytes([byte]) * length + content[first + length :]


CONTENTS: dict[str, Change] = {
    "replace": _replace,
    "replace all": lambda content, old, new: _replace(content, old, new, -1),
    "prepend": lambda content, text: _bytes(text) + content,
    "append": lambda content, text: content + _bytes(text),
    "encode": lambda content, encoding: content.decode().encode(encoding),
    "truncate": lambda content, share: content[: int(len(content) * share)],
    "scramble": _scramble,
}


def _change_json(path: Path, change: Change, where: str, *arguments: Any) -> None:
    """Change the value at a path of a JSON file, numbers counting entries from 0; JSON lines are a list of lines."""
    text = path.read_text(encoding="utf-8")
    is_lines = path.suffix == ".jsonl"
    whole = [[json.loads(line) for line in text.split("\n") if line] if is_lines else json.loads(text)]
    inner: Any = whole
    *parents, last = ("0", *where.split(".")) if where else ("0",)
    for part in parents:
        inner = inner[int(part) if isinstance(inner, list) else part]
    raw = change(inner, int(last) if isinstance(inner, list) else last, *arguments)
    lines = [json.dumps(line) for line in whole[0]] if is_lines else [json.dumps(whole[0])]
    text = "\n".join(lines) + "\n"
    path.write_bytes(_bytes(text if raw is None else text.replace(json.dumps(RAW), raw)))


def _set_raw(holder: Any, place: Any, text: str) -> str:
    """Set a value to a text as it stands, which need not be JSON."""
    holder[place] = RAW
    return text


def _set(holder: Any, place: Any, value: Any) -> None:
    holder[place] = value


def _drop(holder: Any, place: Any) -> None:
    del holder[place]


JSON: dict[str, Change] = {"set json": _set, "set raw json": _set_raw, "delete json": _drop}


def _change_table(path: Path, change: Change, *arguments: Any) -> None:
    table = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
    csv.field_size_limit(1 << 30)
    text = io.StringIO(newline="")
    csv.writer(text).writerows(change(table, *arguments))
    path.write_bytes(_bytes(text.getvalue()))


def _set_cell(table: list[list[str]], row: int, column: str, text: str) -> list[list[str]]:
    """Set a cell; rows are counted from 1 below the header."""
    table[row][table[0].index(column)] = text
    return table


def _drop_column(table: list[list[str]], name: str) -> list[list[str]]:
    place = table[0].index(name)
    return [[*row[:place], *row[place + 1 :]] for row in table]


TABLES: dict[str, Change] = {
    "set cell": _set_cell,
    "add column": lambda table, name, text: [[*table[0], name], *([*row, text] for row in table[1:])],
    "drop column": _drop_column,
}
KINDS: dict[str, pa.DataType] = {
    "decimal": pa.decimal128(10, 2),
    "duration": pa.duration("ns"),
    "timestamp": pa.timestamp("ns", "UTC"),
    "list": pa.list_(pa.string()),
    "struct": pa.struct({"a": pa.int64()}),
    "map": pa.map_(pa.string(), pa.int64()),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}


def _with_column(table: pa.Table, column: str, array: pa.Array) -> pa.Table:
    place = table.schema.get_field_index(column)
    return table.append_column(column, array) if place < 0 else table.set_column(place, column, array)


def _with_cell(table: pa.Table, row: int, column: str, value: Any) -> pa.Table:
    """Set a cell, the column's type following its values."""
    values = table.column(column).to_pylist()
    values[row] = value
    return _with_column(table, column, pa.array(values))


def _with_bytes(table: pa.Table, row: int, column: str, text: str) -> pa.Table:
    """Set a cell of a text column to bytes that need not be UTF-8."""
    values = [str(value).encode() for value in table.column(column).to_pylist()]
    values[row] = _bytes(text)
    return _with_column(table, column, pa.array(values, pa.binary()).view(pa.string()))


def _with_kind(table: pa.Table, column: str, kind: str, value: Any = None) -> pa.Table:
    """Set a column of some type, with one value; a text stands for bytes where the type is binary."""
    contents = [_bytes(value) if "binary" in kind and value is not None else value] * len(table)
    if kind == "dictionary":
        return _with_column(table, column, pa.array(contents).dictionary_encode())
    if kind == "decimal":
        return _with_column(table, column, pa.array(contents).cast(KINDS[kind]))
    return _with_column(table, column, pa.array(contents, KINDS[kind] if kind in KINDS else pa.type_for_alias(kind)))


PARQUET: dict[str, Change] = {
    "set parquet": _with_cell,
    "set parquet bytes": _with_bytes,
    "set parquet column": _with_kind,
    "drop parquet column": lambda table, column: table.drop_columns([column]),
    "repeat parquet": lambda table, row: pa.concat_tables([table, table.slice(row, 1)]),
    "drop parquet row": lambda table, row: pa.concat_tables([table.slice(0, row), table.slice(row + 1)]),
}
LOCAL = {"signature": (0, "I"), "flags": (6, "H"), "method": (8, "H"), "crc": (14, "I"), "packed": (18, "I"),
         "size": (22, "I"), "name": (26, "H"), "extra": (28, "H")}  # fmt: skip
CENTRAL = {"flags": (8, "H"), "method": (10, "H"), "crc": (16, "I"), "packed": (20, "I"), "size": (24, "I"),
           "offset": (42, "I")}  # fmt: skip


def _info(path: Path, member: str) -> zipfile.ZipInfo:
    with zipfile.ZipFile(path) as archive:
        return archive.getinfo(member)


def _flip(path: Path, member: str, offset: int) -> None:
    """Invert a byte of a member's compressed content; a negative offset counts from its end."""
    info, content = _info(path, member), bytearray(path.read_bytes())
    name, extra = struct.unpack_from("<HH", content, info.header_offset + 26)
    first = info.header_offset + 30 + name + extra
    content[first + (offset if offset >= 0 else info.compress_size + offset)] ^= 0xFF
    path.write_bytes(content)


def _set_field(path: Path, start: int, field: tuple[int, str], value: int) -> None:
    content = bytearray(path.read_bytes())
    struct.pack_into(f"<{field[1]}", content, start + field[0], value)
    path.write_bytes(content)


def _set_local(path: Path, member: str, field: str, value: int) -> None:
    """Set a field of a member's local header."""
    _set_field(path, _info(path, member).header_offset, LOCAL[field], value)


def _set_central(path: Path, member: str, field: str, value: int) -> None:
    """Set a field of a member's entry in the archive's directory."""
    _set_field(path, path.read_bytes().rindex(member.encode()) - 46, CENTRAL[field], value)


def _grow(path: Path, member: str, megabytes: int, method: str = "deflated") -> None:
    """Replace a member by its own content and so many megabytes of spaces."""
    with zipfile.ZipFile(path) as archive:
        contents = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", getattr(zipfile, f"ZIP_{method.upper()}"), compresslevel=1) as archive:
        for name, content in contents.items():
            with archive.open(name, "w") as file:
                file.write(content)
                for _ in range(megabytes if name == member else 0):
                    file.write(b" " * 1_000_000)


def _add(path: Path, member: str, text: str, mode: int = 0o644) -> None:
    info = zipfile.ZipInfo(member)
    info.external_attr = mode << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, _bytes(text))


ARCHIVES: dict[str, Change] = {
    "zip flip": _flip, "zip local": _set_local, "zip central": _set_central, "zip member": _grow, "zip add": _add,
}  # fmt: skip
