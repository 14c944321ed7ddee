"""Files of TFRecords, and the `tf.train.Example` messages in them, read without TensorFlow."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78
_HEAD, _CHECKSUM = struct.Struct("<QI"), struct.Struct("<I")
SHORT = 64
"""Bytes up to which a checksum is computed byte by byte."""


class BadRecord(Exception):
    """A record cannot be read; the message says why."""


@dataclass(frozen=True)
class TfRecord:
    """Location of a record's data in a file."""

    path: Path
    number: int
    start: int
    size: int
    checksum: int

    def read(self) -> bytes:
        """The data."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            data = file.read(self.size)
        if len(data) < self.size or masked_crc32c(data) != self.checksum:
            raise BadRecord(f"Expected record {self.number} to have the checksum that the file states for it.")
        return data


def index_records(path: Path) -> list[TfRecord]:
    """The records of a file; of each only the length is read and checked, not the data."""
    records: list[TfRecord] = []
    size = path.stat().st_size
    with path.open("rb") as file:
        at = 0
        while at < size:
            number = len(records)
            file.seek(at)
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                raise BadRecord(f"Expected a TFRecord as record {number}, but the file ends within its length.")
            length, checksum = _HEAD.unpack(head)
            if masked_crc32c(head[:8]) != checksum:
                raise BadRecord(f"Expected a TFRecord as record {number}, but its length has another checksum.")
            start = at + _HEAD.size
            at = start + length + _CHECKSUM.size
            if at > size:
                raise BadRecord(
                    f"Expected record {number} to end at byte {at:,}, but the file has {size:,} bytes: it was cut off."
                )
            file.seek(start + length)
            records.append(TfRecord(path, number, start, length, _CHECKSUM.unpack(file.read(_CHECKSUM.size))[0]))
    return records


def masked_crc32c(data: bytes) -> int:
    """CRC-32C of data, rotated and shifted as TFRecords state it."""
    checksum = crc32c(data)
    return (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of data."""
    if len(data) <= SHORT:
        state = 0xFFFFFFFF
        for byte in data:
            state = int(_TABLE[(state ^ byte) & 0xFF]) ^ (state >> 8)
        return state ^ 0xFFFFFFFF
    lanes = 1 << (len(data).bit_length() // 2 + 1)
    steps = -(-len(data) // lanes)
    # From a state of zero, zero bytes in front change nothing; the first state goes into the first bytes.
    padded = np.zeros((lanes + 32, steps), dtype=np.uint8)
    flat = padded[:lanes].reshape(-1)
    flat[lanes * steps - len(data) :] = np.frombuffer(data, dtype=np.uint8)
    flat[lanes * steps - len(data) :][:4] ^= 0xFF
    states = np.zeros(lanes + 32, dtype=np.uint32)
    # What the zero bytes of 32 further lanes make of each single bit is what they make of any state.
    states[lanes:] = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for column in np.ascontiguousarray(padded.T):
        states = _TABLE[(states ^ column) & 0xFF] ^ (states >> 8)
    states, shift = states[:lanes], states[lanes:]
    while len(states) > 1:
        states = _shifted(states[::2], shift) ^ states[1::2]
        shift = _shifted(shift, shift)
    return int(states[0]) ^ 0xFFFFFFFF


def read_example(data: bytes, names: Collection[str]) -> dict[str, list[bytes] | list[int]]:
    """The features of a `tf.train.Example` that are named: lists of bytes or of integers; others are passed over."""
    features: dict[str, list[bytes] | list[int]] = {}
    for number, message in _fields(memoryview(data)):
        for _, entry in _fields(_message(message)) if number == 1 else ():
            name, feature = "", memoryview(b"")
            for part, value in _fields(_message(entry)):
                if part == 1:
                    name = bytes(_message(value)).decode("utf-8", "replace")
                elif part == 2:
                    feature = _message(value)
            if name in names:
                features[name] = _values(feature)
    return features


def _values(feature: memoryview) -> list[bytes] | list[int]:
    texts: list[bytes] = []
    numbers: list[int] = []
    for kind, values in _fields(feature):
        for _, value in _fields(_message(values)) if kind in (1, 3) else ():
            if kind == 1:
                texts.append(bytes(_message(value)))
            elif isinstance(value, int):
                numbers.append(value)
            else:
                at = 0
                while at < len(value):
                    number, at = _varint(value, at)
                    numbers.append(number)
    return texts or numbers


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Number and value of each field of a message, in the order in which they stand."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = _varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise BadRecord("Expected a tf.train.Example, but got a message of another form.")
        if at + size > len(message):
            raise BadRecord("Expected a whole tf.train.Example, but it ends in a field.")
        yield tag >> 3, message[at : at + size]
        at += size


def _message(value: memoryview | int) -> memoryview:
    if isinstance(value, int):
        raise BadRecord("Expected a tf.train.Example, but got a message of another form.")
    return value


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A number of one to ten bytes of seven bits each, the lowest first, and where it ends."""
    value = 0
    for place, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise BadRecord("Expected a whole tf.train.Example, but it ends in a number.")


def _shifted(states: NDArray[np.uint32], shift: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """States after the zero bytes of which `shift` holds what they make of each single bit."""
    after = np.zeros_like(states)
    for bit in range(32):
        after ^= np.where((states >> np.uint32(bit)) & np.uint32(1), shift[bit], np.uint32(0))
    return after


def _make_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


_TABLE = _make_table()
