"""Vectors of clips: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from lmms_eval_tasks.construct.curation.vectors import EXACT, exact_units, read_vectors
from lmms_eval_tasks.utils.core.errors import InputError


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


def test_all_problems_of_an_array_are_listed(tmp_path: Path) -> None:
    array = write_array(tmp_path / "v.npy", [[1, 0], [0, 0], [np.nan, 1], [np.inf, 1]])
    with pytest.raises(InputError) as refused:
        read_vectors(array, write_ids(tmp_path / "i.txt", "a", "a", "", "c", "d"), ["a", "e"])
    assert str(refused.value).splitlines() == [
        "v.npy cannot be used: 4 problems.",
        "  i.txt: Expected as many ids as the 4 vectors of v.npy, but got 5.",
        "  ids: Expected each once, but got again `a` (vectors 1 and 2).",
        "  ids: Expected a text for each vector, but got `` (vector 3).",
        "  v.npy: Expected a vector of every candidate's clip, but there is none of `e`.",
    ]
    with pytest.raises(InputError) as refused:
        read_vectors(array, write_ids(tmp_path / "i.txt", *"abcd"), list("abcd"))
    assert str(refused.value).splitlines() == [
        "v.npy cannot be used: 2 problems.",
        "  v.npy: Expected finite numbers, but there are others in the vector of `c`, `d`.",
        "  v.npy: Expected vectors with a direction, but all is zero in that of `b`.",
    ]


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([1.0, 2.0], float, "Expected numbers of shape (clips, dimensions), but got float64 of shape (2,)."),
        ([["a"]], str, "Expected numbers of shape (clips, dimensions), but got <U1 of shape (1, 1)."),
        ([[]], float, "Expected numbers of shape (clips, dimensions), but got float64 of shape (1, 0)."),
    ],
)
def test_arrays_of_another_form_are_refused(tmp_path: Path, values: object, kind: type, message: str) -> None:
    array = write_array(tmp_path / "v.npy", values, kind)
    with pytest.raises(InputError) as refused:
        read_vectors(array, write_ids(tmp_path / "i.txt", "a"), ["a"])
    assert str(refused.value) == f"v.npy cannot be used: {message}"


def test_files_that_hold_no_vectors_are_refused(tmp_path: Path) -> None:
    ids = write_ids(tmp_path / "i.txt", "a")
    (tmp_path / "v.npy").write_bytes(b"no array")
    (tmp_path / "v.parquet").write_bytes(b"no table")
    np.save(tmp_path / "o.npy", np.array([[object()]]), allow_pickle=True)
    np.savez(tmp_path / "z.npz", a=np.zeros(1))
    (tmp_path / "z.npz").rename(tmp_path / "z.npy")
    for name, ids_file in (("v.npy", ids), ("o.npy", ids), ("z.npy", ids), ("v.parquet", None), ("none.npy", ids)):
        with pytest.raises(InputError, match=rf"^{name} cannot be used: "):
            read_vectors(tmp_path / name, ids_file, ["a"])
    with pytest.raises(InputError, match=r"^v.npy cannot be used: it holds no ids\."):
        read_vectors(tmp_path / "v.npy", None, ["a"])
    with pytest.raises(InputError, match=r"^Expected vectors in a file .npy or .parquet, but got i.txt\."):
        read_vectors(ids, None, ["a"])


def test_tables_of_another_form_are_refused(tmp_path: Path) -> None:
    uneven = write_table(tmp_path / "v.parquet", ["a", "b", None, "d"], [[1.0, 2.0], [1.0], [2.0, 1.0], None])
    with pytest.raises(InputError) as refused:
        read_vectors(uneven, None, ["a"])
    assert str(refused.value).splitlines() == [
        "v.parquet cannot be used: 2 problems.",
        "  embedding: Expected vectors of 2 numbers, but got 1 of `b`, 0 of `d`.",
        "  ids: Expected a text for each vector, but got `null` (vector 3).",
    ]
    for vectors, reason in (
        ([1.0], "Expected lists of numbers, but got double."),
        ([["a"]], "Expected lists of numbers, but got list<"),
    ):
        with pytest.raises(InputError, match=reason):
            read_vectors(write_table(tmp_path / "t.parquet", ["a"], vectors), None, ["a"])
    pa.parquet.write_table(pa.table({"id": ["a"]}), tmp_path / "n.parquet")
    with pytest.raises(InputError, match="Expected the columns clip and embedding, but clip, embedding are missing"):
        read_vectors(tmp_path / "n.parquet", None, ["a"])
