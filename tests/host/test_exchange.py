"""What ranks send one another through torch's store."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thread_ranks import ThreadRanks
from torch.distributed import HashStore

from lmms_eval_tasks.host import ranks as exchange
from lmms_eval_tasks.host import ranks as ranks_module
from lmms_eval_tasks.host.ranks import PREFIX, Exchange, LostRank


class CountingStore:
    """A store that counts the bytes that are put into it, by who puts them, and what still lies in it."""

    def __init__(self) -> None:
        self._store = HashStore()
        self.sizes: dict[str, int] = {}
        self.largest = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def set(self, key: str, value: bytes) -> None:
        self.sizes[key] = len(value)
        self.largest = max(self.largest, len(value))
        self._store.set(key, value)

    def delete_key(self, key: str) -> None:
        assert self._store.delete_key(key)
        del self.sizes[key]


values = st.recursive(st.integers() | st.text(max_size=5) | st.none(), lambda inner: st.lists(inner, max_size=3))


@given(st.data(), st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_every_rank_gets_what_is_for_it(data: st.DataObject, count: int) -> None:
    sent = [[data.draw(values) for _ in range(count)] for _ in range(count)]
    store = CountingStore()
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(exchange, "CHUNK", 16)
        several = ThreadRanks(count, monkeypatch, store=store)

        def on_rank(rank: int) -> tuple[Any, ...]:
            ranks, mine = several.current_exchange(), sent[rank]
            return (
                ranks.gather(mine),
                ranks.gather_first(mine),
                ranks.scatter(lambda: sent[rank]),
                ranks.share(lambda: sent[rank][0]),
                ranks.deliver(mine),
            )

        for rank, (gathered, first, part, shared, delivered) in enumerate(several.run(on_rank)):
            assert gathered == sent and first == ([] if rank else sent)
            assert part == sent[0][rank] and shared == sent[0][0]
            assert delivered == [letters[rank] for letters in sent]
    assert store.largest <= 16 + ranks_module.COUNT
    if count > 1:
        left = Counter(key.split("/")[1] for key in store.sizes)
        assert set(left) == {"1"}, "only what every rank reads stays in the store"


def test_a_value_takes_the_bytes_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    store, large, small = CountingStore(), b"x" * 100_000, b"y"
    several = ThreadRanks(4, monkeypatch, store=store)
    several.run(lambda rank: several.current_exchange().gather(small if rank else large))
    sizes = sorted(store.sizes.values())
    assert sizes[-1] == len(pickle.dumps(large)) + ranks_module.COUNT and sum(sizes[:-1]) < 100


def test_only_the_first_rank_makes_what_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    several, made = ThreadRanks(3, monkeypatch), []
    assert several.run(lambda rank: several.current_exchange().share(lambda: made.append(rank) or rank)) == [0, 0, 0]
    assert made == [0]


def test_a_rank_that_shows_no_sign_of_life_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "SILENCE", 0.05)
    with pytest.raises(LostRank, match="Rank 1 has shown no sign of life"):
        Exchange(0, 2, HashStore()).gather(None)


class LateStore:
    """A store of two ranks, of which the second shows at each look that it is alive, and answers at the last."""

    def __init__(self, looks: int) -> None:
        self.looks, self._store = looks, HashStore()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def check(self, keys: list[str]) -> bool:
        self._store.add(f"{PREFIX}/life/1", 1)
        self.looks -= 1
        if not self.looks:
            Exchange(1, 2, self._store).gather_first("late")
        return bool(self._store.check(keys))


def test_a_rank_that_is_alive_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "SILENCE", 0.0)
    store = LateStore(looks=8)
    assert Exchange(0, 2, store).gather_first("early") == ["early", "late"]
    assert store.looks == 0
