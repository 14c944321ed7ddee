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


def mutate(root: Path, mutation: Sequence[Any]) -> None:
    """Spoil one file below `root`."""
    operator, file, *arguments = mutation
    OPERATORS[operator](root / file, *map(_expanded, arguments))


def _expanded(value: Any) -> Any:
    if isinstance(value, dict) and "repeat" in value:
        piece, times = value["repeat"]
        return piece * times + value.get("then", "")
    return value


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def write(path: Path, text: str) -> None:
    """Replace the content, or make a new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_bytes(text))


def replace(path: Path, old: str, new: str) -> None:
    """Replace the first occurrence of a text."""
    content = path.read_bytes()
    assert _bytes(old) in content, old
    path.write_bytes(content.replace(_bytes(old), _bytes(new), 1))


def replace_all(path: Path, old: str, new: str) -> None:
    """Replace every occurrence of a text."""
    content = path.read_bytes()
    assert _bytes(old) in content, old
    path.write_bytes(content.replace(_bytes(old), _bytes(new)))


def prepend(path: Path, text: str) -> None:
    """Put a text before the content."""
    path.write_bytes(_bytes(text) + path.read_bytes())


def append(path: Path, text: str) -> None:
    """Put a text after the content."""
    path.write_bytes(path.read_bytes() + _bytes(text))


def encode(path: Path, encoding: str) -> None:
    """Write a file of UTF-8 in another encoding."""
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))


def truncate(path: Path, share: float) -> None:
    """Cut a file after a share of its bytes."""
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def scramble(path: Path, start: float, length: int, byte: int = 0xFF) -> None:
    """Overwrite bytes from a share of the file on."""
    content = bytearray(path.read_bytes())
    first = int(len(content) * start)
    content[first : first + length] = bytes([byte]) * length
    path.write_bytes(content)


def delete(path: Path) -> None:
    """Delete a file or a folder."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def rename(path: Path, name: str) -> None:
    """Give a file or a folder another name in its folder."""
    os.rename(os.fsencode(path), os.fsencode(path.parent) + b"/" + _bytes(name))  # noqa: PTH104


def copy(path: Path, source: str) -> None:
    """Put a copy of another file of the base in this one's place; the source is named from the base's root."""
    root = next(folder for folder in path.parents if (folder / source).exists())
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / source, path)


def folder(path: Path) -> None:
    """Put an empty folder in the file's place."""
    delete(path)
    path.mkdir()


def fifo(path: Path) -> None:
    """Put a pipe in the file's place, which whoever opens it waits for."""
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def symlink(path: Path, target: str) -> None:
    """Put a symbolic link in the file's place."""
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def set_json(path: Path, where: str, value: Any) -> None:
    """Set the value at a path of a JSON file, numbers counting entries from 0; JSON lines are a list of lines."""
    _change_json(path, where, value)


def set_raw_json(path: Path, where: str, text: str) -> None:
    """Set the value at a path to a text as it stands, which need not be JSON."""
    _change_json(path, where, RAW)
    replace(path, json.dumps(RAW), text)


def delete_json(path: Path, where: str) -> None:
    """Delete the value at a path of a JSON file."""
    _change_json(path, where, None, delete=True)


def _change_json(path: Path, where: str, value: Any, delete: bool = False) -> None:
    text = path.read_text(encoding="utf-8")
    is_lines = path.suffix == ".jsonl"
    document = [json.loads(line) for line in text.split("\n") if line] if is_lines else json.loads(text)
    inner = document
    *parents, last = where.split(".") if where else [""]
    for part in parents:
        inner = inner[int(part) if isinstance(inner, list) else part]
    if not where:
        document = value
    elif delete:
        del inner[int(last) if isinstance(inner, list) else last]
    else:
        inner[int(last) if isinstance(inner, list) else last] = value
    lines = [json.dumps(line) for line in document] if is_lines else [json.dumps(document)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def set_cell(path: Path, row: int, column: str, text: str) -> None:
    """Set a cell of a CSV file; rows are counted from 1 below the header."""
    table = _table(path)
    table[row][table[0].index(column)] = text
    _write_table(path, table)


def add_column(path: Path, name: str, text: str) -> None:
    """Add a column with one text to a CSV file."""
    table = _table(path)
    _write_table(path, [[*table[0], name], *([*row, text] for row in table[1:])])


def drop_column(path: Path, name: str) -> None:
    """Drop a column of a CSV file."""
    table = _table(path)
    place = table[0].index(name)
    _write_table(path, [[*row[:place], *row[place + 1 :]] for row in table])


def _table(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def _write_table(path: Path, table: Sequence[Sequence[str]]) -> None:
    csv.field_size_limit(1 << 30)
    text = io.StringIO(newline="")
    csv.writer(text).writerows(table)
    path.write_bytes(_bytes(text.getvalue()))


def set_parquet(path: Path, row: int, column: str, value: Any) -> None:
    """Set a cell of a parquet file, the column's type following its values."""
    table = pa.parquet.read_table(path)
    values = table.column(column).to_pylist()
    values[row] = value
    _write_parquet(path, table, column, pa.array(values))


def set_parquet_bytes(path: Path, row: int, column: str, text: str) -> None:
    """Set a cell of a text column to bytes that need not be UTF-8."""
    table = pa.parquet.read_table(path)
    values = [str(value).encode() for value in table.column(column).to_pylist()]
    values[row] = _bytes(text)
    _write_parquet(path, table, column, pa.array(values, pa.binary()).view(pa.string()))


def set_parquet_column(path: Path, column: str, kind: str, value: Any = None) -> None:
    """Give a parquet file a column of some type, with one value; a text stands for bytes where the type is binary."""
    kinds: dict[str, pa.DataType] = {
        "decimal": pa.decimal128(10, 2),
        "duration": pa.duration("ns"),
        "timestamp": pa.timestamp("ns", "UTC"),
        "list": pa.list_(pa.string()),
        "struct": pa.struct({"a": pa.int64()}),
        "map": pa.map_(pa.string(), pa.int64()),
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
    }
    table = pa.parquet.read_table(path)
    data_type = kinds[kind] if kind in kinds else pa.type_for_alias(kind)
    content = _bytes(value) if "binary" in kind and value is not None else value
    if kind == "dictionary":
        array = pa.array([content] * len(table)).dictionary_encode()
    elif kind == "decimal":
        array = pa.array([content] * len(table)).cast(data_type)
    else:
        array = pa.array([content] * len(table), data_type)
    _write_parquet(path, table, column, array)


def drop_parquet_column(path: Path, column: str) -> None:
    """Drop a column of a parquet file."""
    pa.parquet.write_table(pa.parquet.read_table(path).drop_columns([column]), path)


def repeat_parquet(path: Path, row: int) -> None:
    """Repeat a row of a parquet file at its end."""
    table = pa.parquet.read_table(path)
    pa.parquet.write_table(pa.concat_tables([table, table.slice(row, 1)]), path)


def drop_parquet_row(path: Path, row: int) -> None:
    """Drop a row of a parquet file."""
    table = pa.parquet.read_table(path)
    pa.parquet.write_table(pa.concat_tables([table.slice(0, row), table.slice(row + 1)]), path)


def _write_parquet(path: Path, table: pa.Table, column: str, array: pa.Array) -> None:
    place = table.schema.get_field_index(column)
    table = table.append_column(column, array) if place < 0 else table.set_column(place, column, array)
    pa.parquet.write_table(table, path)


def zip_flip(path: Path, member: str, offset: int) -> None:
    """Invert a byte of a member's compressed content; a negative offset counts from its end."""
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(member)
    content = bytearray(path.read_bytes())
    name, extra = struct.unpack_from("<HH", content, info.header_offset + 26)
    first = info.header_offset + 30 + name + extra
    content[first + (offset if offset >= 0 else info.compress_size + offset)] ^= 0xFF
    path.write_bytes(content)


LOCAL = {"signature": (0, "I"), "flags": (6, "H"), "method": (8, "H"), "crc": (14, "I"), "packed": (18, "I"),
         "size": (22, "I"), "name": (26, "H"), "extra": (28, "H")}  # fmt: skip
CENTRAL = {"flags": (8, "H"), "method": (10, "H"), "crc": (16, "I"), "packed": (20, "I"), "size": (24, "I"),
           "offset": (42, "I")}  # fmt: skip


def zip_local(path: Path, member: str, field: str, value: int) -> None:
    """Set a field of a member's local header."""
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo(member).header_offset
    _set_field(path, start, LOCAL[field], value)


def zip_central(path: Path, member: str, field: str, value: int) -> None:
    """Set a field of a member's entry in the archive's directory."""
    content = path.read_bytes()
    _set_field(path, content.rindex(member.encode()) - 46, CENTRAL[field], value)


def _set_field(path: Path, start: int, field: tuple[int, str], value: int) -> None:
    content = bytearray(path.read_bytes())
    struct.pack_into(f"<{field[1]}", content, start + field[0], value)
    path.write_bytes(content)


def zip_member(path: Path, member: str, megabytes: int, method: str = "deflated") -> None:
    """Replace a member by its own content and so many megabytes of spaces."""
    with zipfile.ZipFile(path) as archive:
        contents = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", getattr(zipfile, f"ZIP_{method.upper()}"), compresslevel=1) as archive:
        for name, content in contents.items():
            with archive.open(name, "w") as file:
                file.write(content)
                for _ in range(megabytes if name == member else 0):
                    file.write(b" " * 1_000_000)


def zip_add(path: Path, member: str, text: str, mode: int = 0o644) -> None:
    """Add a member."""
    info = zipfile.ZipInfo(member)
    info.external_attr = mode << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, _bytes(text))


OPERATORS: dict[str, Callable[..., None]] = {
    function.__name__.replace("_", " "): function
    for function in (
        write, replace, replace_all, prepend, append, encode, truncate, scramble, delete, rename, copy, folder, fifo,
        symlink, set_json, set_raw_json, delete_json, set_cell, add_column, drop_column, set_parquet,
        set_parquet_bytes, set_parquet_column, drop_parquet_column, repeat_parquet, drop_parquet_row, zip_flip,
        zip_local, zip_central, zip_member, zip_add,
    )
}  # fmt: skip
"""Operator, as a table writes it, to what it does."""
