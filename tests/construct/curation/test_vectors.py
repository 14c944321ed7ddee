"""Vectors of clips: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from expected import Expected
from refusals import refusal
from releases import latin_text

from lmms_eval_tasks.construct.curation.vectors import EXACT, exact_units, read_vectors


def write_ids(path: Path, *names: str) -> Path:
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return path


def write_array(path: Path, values: object, kind: type = np.float32) -> Path:
    np.save(path, np.array(values, dtype=kind))
    return path


def write_table(path: Path, clips: list[object], vectors: list[object], **columns: object) -> Path:
    pa.parquet.write_table(pa.table({"clip": clips, "embedding": vectors, **columns}), path)
    return path


def test_products_are_exact_in_any_order() -> None:
    units = exact_units(np.random.default_rng(0).normal(size=(40, 512)))
    products = units @ units.T
    assert [[float(one @ other) for other in units] for one in units] == products.tolist()
    assert [[float(one[::-1] @ other[::-1]) for other in units] for one in units] == products.tolist()
    assert np.diag(products) / EXACT == pytest.approx(1, abs=1e-7)


def test_vectors_are_found_by_clip(tmp_path: Path) -> None:
    wanted = exact_units(np.array([[0.0, 2.0], [3.0, 4.0]]))
    array = write_array(tmp_path / "v.npy", [[3, 4], [1, 0], [0, 2]])
    assert (read_vectors(array, write_ids(tmp_path / "i.txt", "b", "x", "a"), ["a", "b"]) == wanted).all()
    (tmp_path / "i.json").write_text('["b", "x", "a"]')
    assert (read_vectors(array, tmp_path / "i.json", ["a", "b"]) == wanted).all()
    table = write_table(tmp_path / "v.parquet", ["b", "x", "a"], [[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])
    assert (read_vectors(table, None, ["a", "b"]) == wanted).all()


def test_what_holds_no_vectors_of_the_clips_is_refused_with_every_problem(tmp_path: Path, expected: Expected) -> None:
    array = write_array(tmp_path / "v.npy", [[1, 0], [0, 0], [np.nan, 1], [np.inf, 1]])
    ids = write_ids(tmp_path / "i.txt", "a")
    (tmp_path / "bytes.npy").write_bytes(b"no array")
    (tmp_path / "bytes.parquet").write_bytes(b"no table")
    np.save(tmp_path / "objects.npy", np.array([[object()]]), allow_pickle=True)
    np.savez(tmp_path / "several.npz", a=np.zeros(1))
    (tmp_path / "several.npz").rename(tmp_path / "several.npy")
    pa.parquet.write_table(pa.table({"id": ["a"]}), tmp_path / "names.parquet")
    pa.parquet.write_table(pa.table({"clip": ["a"]}), tmp_path / "clips.parquet")
    uneven = write_table(tmp_path / "uneven.parquet", ["a", "b", None, "d"], [[1.0, 2.0], [1.0], [2.0, 1.0], None])
    given: list[tuple[Path, Path | None, list[str]]] = [
        (array, write_ids(tmp_path / "j.txt", "a", "a", "", "c", "d"), ["a", "e"]),
        (array, write_ids(tmp_path / "k.txt", *"abcd"), list("abcd")),
        (array, None, ["a"]),
        (ids, None, ["a"]),
        (write_array(tmp_path / "flat.npy", [1.0, 2.0], float), ids, ["a"]),
        (write_array(tmp_path / "texts.npy", [["a"]], str), ids, ["a"]),
        (write_array(tmp_path / "none.npy", [[]], float), ids, ["a"]),
        (uneven, None, ["a"]),
        (write_table(tmp_path / "numbers.parquet", ["a"], [1.0]), None, ["a"]),
        (tmp_path / "names.parquet", None, ["a"]),
        (tmp_path / "clips.parquet", None, ["a"]),
    ]
    expected("\n\n".join(refusal(read_vectors, *one) for one in given))
    write_table(tmp_path / "lists.parquet", ["a"], [["a"]])
    pa.parquet.write_table(pa.table({"clip": latin_text(), "embedding": [[1.0]]}), tmp_path / "latin.parquet")
    files = (
        "bytes.npy",
        "objects.npy",
        "several.npy",
        "missing.npy",
        "bytes.parquet",
        "lists.parquet",
        "latin.parquet",
    )
    for name in files:
        given_ids = ids if name.endswith("npy") else None
        assert refusal(read_vectors, tmp_path / name, given_ids, ["a"]).startswith(f"{name} cannot be used: ")
