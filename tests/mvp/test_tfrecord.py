from __future__ import annotations

from pathlib import Path

import pytest
from mvp_downloads import framed, write_records

from lmms_eval_tasks.mvp.raw_downloads import BadRecord, index_records

BY_TENSORFLOW = bytes.fromhex(
    "2e00000000000000c5cb57fa0a2c0a0c0a016112070a050a01780a000a0d0a016212081a060a0401ac02000a0d0a0163120812060a040000c03f"
    "7d53e3ab"
)
"""What `tf.io.TFRecordWriter` of TensorFlow 2 writes for a: bytes "x" and "", b: integers 1, 300, 0, c: a float 1.5."""


def test_a_file_of_tensorflow_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.tfrecord").write_bytes(BY_TENSORFLOW)
    (record,) = index_records(tmp_path / "x.tfrecord")
    assert framed(record.read()) == BY_TENSORFLOW


def test_records_are_found_without_reading_their_data(tmp_path: Path) -> None:
    data = [b"", b"one", b"x" * 5000]
    path = write_records(tmp_path / "x.tfrecord", data)
    assert [record.read() for record in index_records(path)] == data
    damaged = bytearray(path.read_bytes())
    damaged[-10] ^= 1
    path.write_bytes(damaged)
    records = index_records(path)
    assert [record.read() for record in records[:2]] == data[:2]
    with pytest.raises(BadRecord, match=r"Expected record 2 to have the checksum that the file states for it\."):
        records[2].read()


@pytest.mark.parametrize("lost", [1, 4, 5, 7, 8, 18])
def test_a_file_that_was_cut_off_says_so(tmp_path: Path, lost: int) -> None:
    """Each record has 12 bytes before its data and 4 behind them."""
    path = write_records(tmp_path / "x.tfrecord", [b"one", b"two"])
    path.write_bytes(path.read_bytes()[:-lost])
    with pytest.raises(BadRecord) as caught:
        index_records(path)
    assert str(caught.value) == (
        f"Expected record 1 to end at byte 38, but the file has {38 - lost} bytes: it was cut off."
        if lost <= 7
        else "Expected a TFRecord as record 1, but the file ends within its length."
    )


def test_a_file_of_another_kind_is_refused_at_its_first_record(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff" * 100)
    with pytest.raises(BadRecord, match=r"Expected a TFRecord as record 0, but its length has another checksum\."):
        index_records(tmp_path / "x")
