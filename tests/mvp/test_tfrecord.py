from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mvp_downloads import bitwise_crc32c, example, framed, write_records

from lmms_eval_tasks.mvp.tfrecord import SHORT, BadRecord, crc32c, index_records, read_example

BY_TENSORFLOW = bytes.fromhex(
    "2e00000000000000c5cb57fa0a2c0a0c0a016112070a050a01780a000a0d0a016212081a060a0401ac02000a0d0a0163120812060a040000c03f"
    "7d53e3ab"
)
"""What `tf.io.TFRecordWriter` of TensorFlow 2 writes for a: bytes "x" and "", b: integers 1, 300, 0, c: a float 1.5."""


def test_the_published_checksums() -> None:
    """RFC 3720, B.4."""
    assert crc32c(b"\0" * 32) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("size", [0, 1, SHORT - 1, SHORT, SHORT + 1, 127, 128, 129, 1000, 4095, 4096, 4097])
def test_a_checksum_in_lanes_is_that_of_the_definition(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert crc32c(data) == bitwise_crc32c(data)


def test_a_file_of_tensorflow_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.tfrecord").write_bytes(BY_TENSORFLOW)
    (record,) = index_records(tmp_path / "x.tfrecord")
    features = {"a": [b"x", b""], "b": [1, 300, 0]}
    assert read_example(record.read(), ("a", "b", "d")) == features
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


@given(st.binary(max_size=80))
def test_any_bytes_are_a_message_or_a_sentence(data: bytes) -> None:
    try:
        read_example(data, ("a",))
    except BadRecord as error:
        assert str(error).startswith("Expected a ")


@given(st.data())
def test_a_message_that_was_cut_or_changed_is_read_or_a_sentence(data: st.DataObject) -> None:
    message = bytearray(example({"a": [b"some", b"bytes"], "b": [1, 2**40]}))
    message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_example(bytes(message[: data.draw(st.integers(0, len(message)))]), ("a", "b"))
    except BadRecord as error:
        assert str(error).startswith("Expected a ")
