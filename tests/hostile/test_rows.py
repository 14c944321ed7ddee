"""Tables of bad releases and files, row by row: what is spoilt in which of them, and what the command must then say.

A table is a file of JSON lines, those that begin with `//` being comments. A row has what is done to the files of its
base (``do``: an operator, a file, arguments), a regular expression of what is ``refused`` (with status 1) or
``accepted``, and perhaps the ``command`` in place of the base's own, and the data ``home``. A text that is too long for
a table is ``{"repeat": [piece, times]}``, optionally with ``"then"``; ``\\udcff`` in a text is the byte 0xff.

The first row of a table with its operators and its message is run on every change, the others in `make nightly`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import resource
import shutil
import signal
import struct
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from cast_bench import ROW, row
from cast_bench import write_release as write_cast_bench_release
from commands import call
from hook_runs import FILES, write_hook_run
from releases import QUESTION, WITHHELD, mvp_pair, write_causalvqa, write_clip, write_snapshot, zip_folder
from small_clips import write_noise
from submission_world import EVERY, prepare_world
from yocausal_world import write_release as write_yocausal

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]
MOST_MEMORY = 1_000_000_000
"""Bytes that a command may take."""
LONGEST = 20
"""Seconds of processor time; three times as long by the clock."""
ROWS = {
    f"{file.stem}:{number}": json.loads(line)
    for file in sorted(Path(__file__).parent.glob("*.jsonl"))
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    if line.strip() and not line.startswith("//")
}


def rows_by_turn() -> Iterator[Any]:
    """The names of rows, those marked for the night whose operators and message an earlier row of the table has."""
    seen = set()
    for name, spoilt in ROWS.items():
        operators = frozenset(change[0] for change in spoilt["do"])
        kind = (name.partition(":")[0], operators, spoilt.get("refused"), spoilt.get("accepted"))
        yield pytest.param(name, marks=[pytest.mark.nightly] if kind in seen else [])
        seen.add(kind)


def write_lines(path: Path, *lines: str) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_questions(root: Path) -> Path:
    second = {**QUESTION, "qid": "q2", "renamed_video": "b.mp4", "type": "counterfactual"}
    release = write_causalvqa(root, "debug", [QUESTION, second])
    write_clip(release / "debug" / "videos" / "b.mp4")
    return write_causalvqa(root, "test", [WITHHELD])


def write_archives(root: Path) -> None:
    release = write_questions(root)
    with zipfile.ZipFile(zip_folder(release, root / "all.zip")) as packed:
        contents = {name: packed.read(name) for name in packed.namelist() if not name.endswith("/")}
    for method in ("stored", "deflated", "bzip2", "lzma"):
        with zipfile.ZipFile(root / f"{method}.zip", "w", getattr(zipfile, f"ZIP_{method.upper()}")) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
    shutil.rmtree(release)


def write_pairs(root: Path) -> None:
    write_snapshot(root, "mini", {"temporal_reasoning": mvp_pair("temporal_reasoning_1")})
    subsets = ("human_object_interactions_x", "robot_object_interactions_x", "intuitive_physics_x")
    for name in (*subsets, "temporal_reasoning_1"):
        for member in (1, 2):
            write_clip(root / "videos" / "pt" / f"{name}_{member}.mp4")


def write_evidence(root: Path) -> None:
    write_cast_bench_release(root / "release", [ROW, row(question="Why does it stop?")])
    write_clip(root / "release" / "sav_000001.mp4")


def write_reversals(root: Path) -> None:
    (write_yocausal(root / "release", pairs=1) / "SAMPLE.json").unlink()
    labels = [{"id": f"{subset}_1", "vlm_causality": True} for subset in ("animal", "general", "human", "physics")]
    write_lines(root / "labels.jsonl", *map(json.dumps, labels))


def write_videos(root: Path) -> None:
    captions = {"b.mp4": "A square.", "kitchen/a.mp4": "A light."}
    for name in captions:
        write_clip(root / "videos" / name)
    write_lines(root / "captions.csv", "file,caption", *(f"{name},{text}" for name, text in captions.items()))
    rows = [json.dumps({"file": name, "caption": text}) for name, text in captions.items()]
    write_lines(root / "captions.jsonl", *rows)
    write_lines(root / "labels.jsonl", json.dumps({"id": "general_b", "vlm_causality": True}))


def write_run(root: Path) -> None:
    """A prepared home, a run on it and its copy, and its submission files under the benchmarks' names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        prepare_world(root.parent / "world")
        write_hook_run(root / "run", EVERY)
    shutil.copytree(root / "run", root / "other")
    for (benchmark, part), file in FILES.items():
        name = f"{benchmark}_{part}" if part else benchmark
        shutil.copyfile(root / "run" / file, root / f"{name}{Path(file).suffix}")
    write_lines(root / "labels.jsonl", json.dumps({"id": "animal_1", "vlm_causality": True}))
    write_lines(root / "scores.csv", "model,vbench,released", "Toy,80.5,2025-07")


BASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "causalvqa": (write_questions, "prepare causalvqa --source CausalVQA"),
    "archive": (write_archives, "prepare causalvqa --source deflated.zip"),
    "mvp": (write_pairs, "prepare mvp --videos videos --source snapshot --split mini"),
    "cast_bench": (write_evidence, "prepare cast_bench --source release"),
    "yocausal": (write_reversals, "prepare yocausal --source release"),
    "videos": (write_videos, "prepare yocausal --from-videos videos"),
    "run": (write_run, "report run"),
}
"""A table's base to what writes it, and the command that reads it where a row names no other."""


def write_clips(folder: Path) -> None:
    """Clips with which something is wrong, or only unusual, to put in the place of good ones."""
    write_clip(folder / "good.mp4")
    write_clip(folder / "one_frame.mp4", frames=1)
    write_noise(folder / "first.ts", (32, 32), 16)
    write_noise(folder / "second.ts", (64, 32), 16)
    write_noise(folder / "long.mp4", (64, 48), 80)
    write_noise(folder / "narrow.mp4", (2, 4096), 12)
    first, second, long = ((folder / name).read_bytes() for name in ("first.ts", "second.ts", "long.mp4"))
    (folder / "resized.mp4").write_bytes(first + second)
    (folder / "cut.mp4").write_bytes(first[:-700])
    for name, share in (("early", 0.1), ("late", 0.75)):
        (folder / f"damaged_{name}.mp4").write_bytes(scramble(long, share, len(long) // 5))
    (folder / "text.mp4").write_text("<html>access denied</html>")
    (folder / "playlist.mp4").write_text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n")
    (folder / "concat.mp4").write_text("ffconcat version 1.0\nfile /etc/passwd\n")


def raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def clear(path: Path) -> Path:
    """Make room at a place, where something need not be."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


PLACES: dict[str, Callable[..., Any]] = {
    "delete": clear,
    "write": lambda path, text: clear(path).write_bytes(raw(text)),
    "rename": lambda path, name: path.rename(path.with_name(name)),
    "copy": lambda path, source: shutil.copyfile(source, clear(path)),
    "folder": lambda path: clear(path).mkdir(),
    # A pipe, which whoever opens it waits for.
    "fifo": lambda path: os.mkfifo(clear(path)),
    "symlink": lambda path, target: clear(path).symlink_to(target),
}


def replace(content: bytes, old: str, new: str, times: int = 1) -> bytes:
    assert raw(old) in content, old
    return content.replace(raw(old), raw(new), times)


def scramble(content: bytes, start: float, length: int, byte: int = 0xFF) -> bytes:
    """Overwrite bytes from a share of the content on."""
    first = int(len(content) * start)
    return content[:first] + bytes([byte]) * length + content[first + length :]


CONTENTS: dict[str, Callable[..., bytes]] = {
    "replace": replace,
    "replace all": lambda content, old, new: replace(content, old, new, -1),
    "prepend": lambda content, text: raw(text) + content,
    "append": lambda content, text: content + raw(text),
    "encode": lambda content, encoding: content.decode().encode(encoding),
    "truncate": lambda content, share: content[: int(len(content) * share)],
    "scramble": scramble,
}


def change_json(operator: str, path: Path, where: str, *value: Any) -> None:
    """Set a value, also to a text that need not be JSON, or delete it; numbers count lines and entries from 0."""
    is_lines, text = path.suffix == ".jsonl", path.read_text(encoding="utf-8")
    whole: Any = [[json.loads(line) for line in text.splitlines()] if is_lines else json.loads(text)]
    parts = [int(part) if part.isdigit() else part for part in where.split(".") if part]
    inner, (*parents, last) = whole, (0, *parts)
    for part in parents:
        inner = inner[part]
    if value:
        inner[last] = value[0] if operator == "set json" else "\0"
    else:
        del inner[last]
    text = "".join(json.dumps(line) + "\n" for line in (whole[0] if is_lines else whole))
    path.write_bytes(raw(text.replace('"\\u0000"', value[0]) if operator == "set raw json" else text))


def change_table(operator: str, path: Path, *given: Any) -> None:
    """Set a cell (rows are counted from 1), add a column of one text, or drop one."""
    csv.field_size_limit(1 << 30)
    header, *rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
    if operator == "set cell":
        number, column, text = given
        rows[number - 1][header.index(column)] = text
    elif operator == "add column":
        header, rows = [*header, given[0]], [[*one, given[1]] for one in rows]
    else:
        place = header.index(given[0])
        for one in (header, *rows):
            del one[place]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([header, *rows])
    path.write_bytes(raw(text.getvalue()))


def change_parquet(operator: str, path: Path, column: str, *given: Any) -> None:
    """Set the first cell, the column's type following its values, or all cells, to a value of a type; or drop them."""
    table = pa.parquet.read_table(path)
    place = table.schema.get_field_index(column)
    if operator == "set parquet":
        values = pa.array([given[0], *table.column(column).to_pylist()[1:]])
    elif operator == "set parquet column":
        kind, value = given
        cells = [raw(value) if "binary" in kind or kind == "bytes" else value] * len(table)
        # A text of bytes that are no UTF-8.
        values = pa.array(cells, pa.binary()).view(pa.string()) if kind == "bytes" else pa.array(cells, kind)
    if operator == "drop parquet column":
        table = table.drop_columns([column])
    else:
        table = table.append_column(column, values) if place < 0 else table.set_column(place, column, values)
    pa.parquet.write_table(table, path)


CENTRAL = {"flags": (8, "H"), "method": (10, "H"), "crc": (16, "I"), "size": (24, "I"), "offset": (42, "I")}
"""Fields of a member's entry in the archive's directory: place and form."""


def change_archive(operator: str, path: Path, member: str, *given: Any) -> None:
    """Invert a byte of a member's packed content (from its end, where negative), set a field of its entry in the
    directory, add so many megabytes of spaces to it, or add it with a text."""
    content = bytearray(path.read_bytes())
    if operator == "zip flip":
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(member)
        first = info.header_offset + 30 + sum(struct.unpack_from("<HH", content, info.header_offset + 26))
        content[first + given[0] % info.compress_size] ^= 0xFF
        path.write_bytes(content)
    elif operator == "zip central":
        place, form = CENTRAL[given[0]]
        struct.pack_into(f"<{form}", content, content.rindex(member.encode()) - 46 + place, given[1])
        path.write_bytes(content)
    elif operator == "zip member":
        megabytes, method = given
        with zipfile.ZipFile(path) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
        contents[member] += b" " * (megabytes * 1_000_000)
        with zipfile.ZipFile(path, "w", getattr(zipfile, f"ZIP_{method.upper()}"), compresslevel=1) as archive:
            for name, data in contents.items():
                archive.writestr(name, data)
    else:
        info = zipfile.ZipInfo(member)
        info.external_attr = (given[1] if len(given) > 1 else 0o644) << 16
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(info, raw(given[0]))


def mutate(operator: str, name: str, *arguments: Any) -> None:
    """Spoil a file below the working folder."""
    path = Path(name)
    given = [
        one["repeat"][0] * one["repeat"][1] + one.get("then", "") if isinstance(one, dict) and "repeat" in one else one
        for one in arguments
    ]
    if operator in PLACES:
        PLACES[operator](path, *given)
    elif operator in CONTENTS:
        path.write_bytes(CONTENTS[operator](path.read_bytes(), *given))
    elif operator.endswith("json"):
        change_json(operator, path, *given)
    elif "parquet" in operator:
        change_parquet(operator, path, *given)
    elif operator.startswith("zip"):
        change_archive(operator, path, *given)
    else:
        change_table(operator, path, *given)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The good releases and files, by the names of their tables."""
    root = tmp_path_factory.mktemp("bases")
    write_clips(root / "clips")
    for name, (write, _) in BASES.items():
        write(root / name)
        shutil.copytree(root / "clips", root / name / "clips")
    return root


@contextmanager
def limits() -> Iterator[None]:
    """A command that would take all memory, or wait for ever, is a failed test."""

    def stop(*_: object) -> None:
        # A command takes a TimeoutError for an error of a file.
        pytest.fail("the command waits for ever")

    (taken,) = re.findall(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())
    before = resource.getrlimit(resource.RLIMIT_DATA)
    handler, begun = signal.signal(signal.SIGALRM, stop), time.process_time()
    resource.setrlimit(resource.RLIMIT_DATA, (1024 * int(taken) + MOST_MEMORY, before[1]))
    signal.alarm(3 * LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_DATA, before)
    assert time.process_time() - begun < LONGEST


@pytest.mark.parametrize("name", rows_by_turn())
def test_what_is_bad_is_said_in_words(name: str, bases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row: dict[str, Any] = ROWS[name]
    table = name.partition(":")[0]
    root, home = shutil.copytree(bases / table, tmp_path / "base"), row.get("home", "home")
    monkeypatch.chdir(root)
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(root / home))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for mutation in row["do"]:
        mutate(*mutation)
    words = row.get("command", BASES[table][1]).split(" ")
    with limits():
        done = call(*words)
    output = done.out + done.err
    assert done.status == int("refused" in row), f"{row}\n{output[-3000:]}"
    assert re.search(row["refused"] if "refused" in row else row["accepted"], " ".join(output.split())), output[-3000:]
    assert all(char.isprintable() or char == "\n" for char in output)
    if words[0] == "prepare" and "refused" in row:
        assert not any((root / home).glob("*/manifest.json"))
