"""A sample of groups: who is drawn, by strata, and that a larger sample holds a smaller one."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.sampling import (
    SMALLEST,
    SampleChoice,
    allot,
    draw,
    half_width,
    parse_sample,
    strata_of,
)

SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=12)


@pytest.mark.slow
@given(SIZES, st.data())
def test_each_stratum_gets_its_share_and_a_larger_sample_takes_none_away(sizes: list[int], data: st.DataObject) -> None:
    number = data.draw(st.integers(len(sizes), sum(sizes)))
    given_groups = allot(sizes, number)
    assert sum(given_groups) == number
    assert all(1 <= got <= size for got, size in zip(given_groups, sizes, strict=True))
    # Beyond the one of each, nobody is a whole group ahead of its share.
    shares = [number * size / sum(sizes) for size in sizes]
    assert all(got < share + 1 or got == 1 for got, share in zip(given_groups, shares, strict=True))
    if number < sum(sizes):
        more = allot(sizes, number + 1)
        assert sum(one != other for one, other in zip(given_groups, more, strict=True)) == 1


def values(sizes: dict[tuple[str, ...], int]) -> dict[str, tuple[str, ...]]:
    return {f"{' '.join(cell)} {place}": cell for cell, size in sizes.items() for place in range(size)}


def test_rare_values_share_a_stratum() -> None:
    groups = values({("a", "x"): 50, ("a", "y"): 30, ("b", "x"): 15, ("c", "x"): 3, ("d", "y"): 2})
    found = Counter(strata_of(groups, len(groups) / SMALLEST).values())
    assert found == {"a, x": 50, "a, y": 30, "b, x": 15, "others": 5}
    # As many as are needed are enough.
    groups = values({("a", "x"): 90, ("b", "x"): 10})
    assert Counter(strata_of(groups, 10).values()) == {"a, x": 90, "b, x": 10}
    assert Counter(strata_of(groups, 11).values()) == {"x": 100}
    # Those that are too few even together join the rarest of the others.
    groups = values({("a", "x"): 80, ("b", "x"): 16, ("c", "x"): 4})
    assert Counter(strata_of(groups, len(groups) / SMALLEST).values()) == {"a, x": 80, "others, x": 20}


def test_a_larger_sample_holds_a_smaller_and_another_seed_asks_others() -> None:
    tasks = {task: values({(value,): size for value, size in zip("abc", (60, 25, 15), strict=True)}) for task in "st"}
    before: dict[str, set[str]] = {"s": set(), "t": set()}
    for number in (20, 21, 50, 199):
        drawn = draw("both", tasks, SampleChoice(number))
        assert drawn and sum(map(len, drawn.values())) == number
        assert all(before[task] <= drawn[task].keys() for task in tasks)
        before = {task: set(of_task) for task, of_task in drawn.items()}
        for of_task in drawn.values():
            asked = Counter(one.stratum for one in of_task.values())
            assert all(asked[one.stratum] == one.asked for one in of_task.values())
            assert sum(one.weight for one in of_task.values()) == pytest.approx(100)
    assert draw("both", tasks, SampleChoice(200)) is None and draw("both", tasks, SampleChoice(400)) is None
    one, other = (draw("both", tasks, SampleChoice(50, seed)) for seed in (0, 1))
    assert one and other and one["s"].keys() != other["s"].keys()
    assert draw("both", {task: dict(reversed(of.items())) for task, of in tasks.items()}, SampleChoice(50)) == one


def test_the_half_width_is_that_of_a_share_of_half() -> None:
    drawn = draw("task", {"task": values({("a",): 400})}, SampleChoice(100))
    assert drawn and half_width(drawn) == pytest.approx(196 * (0.25 / 100 * (1 - 100 / 400)) ** 0.5)


@pytest.mark.parametrize("text", ["few", "0", "-3", "400:", "400:x", "1.5", ":1"])
def test_what_names_no_sample_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="to be a number of groups, with a seed if one is chosen"):
        parse_sample(text)


def test_fewer_groups_than_strata_are_refused() -> None:
    assert (parse_sample("400"), parse_sample("400:7")) == (SampleChoice(400), SampleChoice(400, 7))
    with pytest.raises(InputError, match=r"to be at least 3 for mvp, one group of each of its strata, but got 2"):
        draw("mvp", {"task": values({(value,): 10 for value in "abc"})}, SampleChoice(2))
    drawn = draw("mvp", {"task": values({(value,): 10 for value in "abc"})}, SampleChoice(3))
    assert drawn and sorted(one.stratum for one in drawn["task"].values()) == ["a", "b", "c"]
