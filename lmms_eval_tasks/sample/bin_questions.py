"""The five kinds of causal question about a ball that falls into one of six bins."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from lmms_eval_tasks.sample.bins import (
    BAR,
    OUTSIDE,
    Aim,
    BinScene,
    bin_of,
    draw_bins,
    expected,
    landing,
    may_land,
    on_the_other_side,
    time_of_fall,
    with_bar,
)
from lmms_eval_tasks.sample.drafts import Draft
from lmms_eval_tasks.sample.scenes import search
from lmms_eval_tasks.sample.wording import BINS, SPEEDS, say_bin, say_speed

LEVELS = ("easy", "med", "hard")
_FALLEN = {"easy": 0.72, "med": 0.55, "hard": 0.42}


def _draw(rng: random.Random, level: str, aim: Aim) -> BinScene | None:
    return draw_bins(rng, aim, decoys=LEVELS.index(level))


def _bins_but(rng: random.Random, *taken: int) -> tuple[int, ...]:
    rest = [number for number in range(BINS) if number not in taken]
    rng.shuffle(rest)
    return tuple(rest)


def anticipation(rng: random.Random, level: str) -> Draft:
    """The clip stops in mid-air: into which bin will the ball fall?"""
    wanted = rng.randrange(BINS)

    def attempt(rng: random.Random) -> Draft | None:
        bins = _draw(rng, level, Aim(wanted))
        if bins is None or landing(bins, bins.world) != wanted:
            return None
        stop = time_of_fall(bins, bins.scene.simulate(), _FALLEN[level])
        question = (
            f"The clip stops while the {bins.scene.called(bins.ball)} is in the air. Into which bin will the ball fall?"
        )
        return Draft(question, replace(bins.scene, duration=stop), wanted, (), _bins_but(rng, wanted), say_bin)

    return search(rng, attempt)


def counterfactual(rng: random.Random, level: str) -> Draft:
    """Without the slanted bar, into which bin would the ball have fallen?"""
    wanted = rng.randrange(BINS)

    def attempt(rng: random.Random) -> Draft | None:
        free = _draw(rng, level, Aim(wanted))
        if free is None or landing(free, free.world) != wanted:
            return None
        barred = with_bar(rng, free)
        happened = bin_of(barred, barred.scene.simulate()) if barred else None
        if barred is None or happened is None or happened == wanted:
            return None
        question = (
            f"If the {BAR} had not been there, into which bin would the {barred.scene.called(barred.ball)} have fallen?"
        )
        return Draft(question, barred.scene, wanted, (happened,), _bins_but(rng, wanted, happened), say_bin)

    return search(rng, attempt)


def descriptive(rng: random.Random, level: str) -> Draft:
    """Into which bin does the ball fall?"""
    wanted = rng.randrange(BINS)

    def attempt(rng: random.Random) -> Draft | None:
        free = _draw(rng, level, Aim(wanted if level == "easy" else rng.randrange(BINS)))
        bins = with_bar(rng, free) if free and level != "easy" else free
        if bins is None or bin_of(bins, bins.scene.simulate()) != wanted:
            return None
        if level == "easy" and landing(bins, bins.world) != wanted:
            return None
        question = f"Into which bin does the {bins.scene.called(bins.ball)} fall?"
        return Draft(question, bins.scene, wanted, (), _bins_but(rng, wanted), say_bin)

    return search(rng, attempt)


def hypothetical(rng: random.Random, level: str) -> Draft:
    """With another speed, or from the other side, into which bin would the ball have fallen?"""
    wanted = rng.randrange(BINS)

    def attempt(rng: random.Random) -> Draft | None:
        factor = {"easy": rng.choice([0.5, 2.0]), "med": rng.choice([1.5, 2.5]), "hard": 1.0}[level]
        bins = _draw(rng, level, Aim(wanted, factor, other_side=level == "hard"))
        if bins is None:
            return None
        if level == "hard":
            would = landing(bins, on_the_other_side(bins))
            change = "had started in the same way from the other side of the picture, as in a mirror"
        else:
            would = landing(bins, bins.world, factor)
            change = f"had rolled off the ledge {say_speed(factor).lower()}"
        happened = bin_of(bins, bins.scene.simulate())
        if would != wanted or happened is None or happened == wanted:
            return None
        question = f"If the {bins.scene.called(bins.ball)} {change}, into which bin would the ball have fallen?"
        return Draft(question, bins.scene, wanted, (happened,), _bins_but(rng, wanted, happened), say_bin)

    return search(rng, attempt)


def planning(rng: random.Random, level: str) -> Draft:
    """How fast must the ball roll off the ledge to fall into a given bin?"""
    wanted = rng.choice(list(SPEEDS))

    def attempt(rng: random.Random) -> Draft | None:
        bins = _draw(rng, level, Aim(rng.randrange(BINS), wanted))
        if bins is None:
            return None
        guess = [expected(bins, factor) for factor in (1.0, *SPEEDS)]
        if guess.count(expected(bins, wanted)) != 1:
            return None
        goal = landing(bins, bins.world, wanted)
        if goal in (None, OUTSIDE):
            return None
        wrong = [factor for factor in SPEEDS if factor != wanted]
        if any(may_land(bins, factor, goal) for factor in (1.0, *wrong)):
            return None
        rng.shuffle(wrong)
        question = (
            f"The {bins.scene.called(bins.ball)} is to fall into {say_bin(goal)[0].lower()}{say_bin(goal)[1:]}. "
            "How fast must it roll off the ledge, compared with the clip?"
        )
        return Draft(question, bins.scene, wanted, (), tuple(wrong), say_speed)

    return search(rng, attempt)


BIN_QUESTIONS: Mapping[str, Callable[[random.Random, str], Draft]] = {
    "anticipation": anticipation,
    "counterfactual": counterfactual,
    "descriptive": descriptive,
    "hypothetical": hypothetical,
    "planning": planning,
}
