"""Scripts of the clips: motion, questions about it and their truth, drawn anew from a scene's code."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

from lmms_eval_tasks.sample.drawn_clips import (
    COLOURS,
    GROUND,
    RADIUS,
    SHAPES,
    WIDTH,
    DrawnBody,
    DrawnQuestion,
    DrawnScene,
    Rect,
    Span,
    Stop,
    ride,
)
from lmms_eval_tasks.sample.words import DIRECTIONS

TOUCH = 2 * RADIUS
"""Pixels between the centres of two bodies that touch."""
NUMBERS = 1 << 14
"""A kind of scene is drawn in so many ways."""
FLOOR = GROUND - 10
LOW = FLOOR - RADIUS
"""Where the centre of what lies on the floor is."""
_GROUNDS = ((206, 200, 190), (190, 204, 196), (196, 200, 210), (212, 206, 176), (178, 182, 186))
_RIMS = ((0, 0, WIDTH, 4), (0, GROUND - 4, WIDTH, GROUND), (0, 0, 4, GROUND), (WIDTH - 4, 0, WIDTH, GROUND))
_FLOOR = (-WIDTH, FLOOR, 2 * WIDTH, GROUND)


Script = Callable[[random.Random], Sequence[DrawnScene]]


def draw(kind: str, seed: str) -> tuple[DrawnScene, ...]:
    """The scenes of a kind: one, or two that differ in one thing."""
    return _draw(kind, random.Random(f"{kind}/{seed}").randrange(NUMBERS))


def scene_of(code: int) -> DrawnScene | None:
    """The scene of a code; None where there is none."""
    kinds, place = list(KINDS), code & 3
    scenes = _draw(kinds[code >> 16], code >> 2 & NUMBERS - 1) if code >> 16 < len(kinds) else ()
    return scenes[place] if place < len(scenes) else None


@cache
def _draw(kind: str, number: int) -> tuple[DrawnScene, ...]:
    rng, code = random.Random(f"{kind}/{number}"), list(KINDS).index(kind) << 16 | number << 2
    scenes, ground = KINDS[kind](rng), rng.choice(_GROUNDS)
    numbered, marked = enumerate(scenes, code), kind in CHAINS
    return tuple(replace(scene, code=own, ground=ground, marked=marked) for own, scene in numbered)


class _Table:
    """A table seen from above with places in three rows; what happens goes along a row to the right or the left."""

    def __init__(self, rng: random.Random, strangers: int = 0) -> None:
        self.rng, self.strangers, self.bodies, self.way = rng, strangers, list[DrawnBody](), rng.choice((1, -1))
        self.rows, self._colours = rng.sample(range(3), 3), rng.sample(list(COLOURS), len(COLOURS))

    def at(self, x: float, row: int) -> complex:
        """A place so many pixels into a row, counted along the way."""
        return complex(WIDTH / 2 + self.way * (x - WIDTH / 2), 24 + 40 * row)

    def add(self, *stops: Stop, shape: str = "") -> str:
        """Put a body on the table, of a colour that no other has; its name."""
        self.bodies.append(DrawnBody(self._colours.pop(), shape or self.rng.choice(SHAPES), stops))
        return self.bodies[-1].name

    def add_chain(
        self, row: int, gaps: Sequence[float], speed: float, begin: float = 0.0, shapes: Sequence[str] = ("",)
    ) -> list[tuple[float, str, str]]:
        """Bodies in a row, of which each moves over its gap until it hits the next; return the hits."""
        names, times, x = list[str](), [begin], 20.0
        for place, gap in enumerate(gaps):
            way = [self.at(x, row), self.at(x + gap, row)]
            names.append(self.add(*ride(way, speed, times[-1]), shape=shapes[place % len(shapes)]))
            times.append(times[-1] + gap / speed)
            x += gap + TOUCH
        return [(time, *pair) for time, pair in zip(times[1:], pairwise(names), strict=False)]

    def show(self, seconds: float, *questions: DrawnQuestion, rows: int = 1, edges: bool = False) -> list[DrawnScene]:
        """The scene of the table, with strangers in the rows in which nothing happens, or at their ends only."""
        places = [(20 + 30 * column, row) for row in self.rows[rows:] for column in ((0, 5) if edges else range(6))]
        for place in self.rng.sample(places, self.strangers):
            self.add((0.0, self.at(*place)))
        return [DrawnScene(tuple(self.bodies), seconds, behind=_RIMS, questions=questions)]


def _touch_first(rng: random.Random, strangers: int, slow: bool = False) -> Sequence[DrawnScene]:
    """A ball heads for something when the clip stops."""
    table, start, speed = _Table(rng, strangers), rng.uniform(20, 50), 15.0 if slow else 36.0
    row, goal = table.rows[0], start + rng.uniform(104, 120)
    way = ride([table.at(start, row), table.at(goal - TOUCH, row)], speed)
    one, two, seconds = table.add(*way, shape="ball"), table.add((0.0, table.at(goal, row))), way[-1][0] - 0.5
    last = math.ceil(seconds) - 1
    evidence = (
        Span(0, 0, last, f"The {one} keeps moving towards the {two}."),
        Span(1, 0, last, f"The {two} lies in the way of the {one}."),
    )
    text = f"The clip stops early. Which object will the {one} touch first?"
    return table.show(seconds, DrawnQuestion(text, two, "Physical Prediction", evidence))


def _without(rng: random.Random, strangers: int, slow: bool = False) -> Sequence[DrawnScene]:
    """A ball is kept by something from reaching something else."""
    table, speed, seconds = _Table(rng, strangers), 13.0 if slow else 36.0, 7.0 if slow else 3.0
    row, hit = table.rows[0], 3.4 if slow else rng.uniform(0.9, 1.2)
    stopped = 20 + hit * speed
    aside = -1j if row == 2 else 1j
    guard = table.at(stopped + TOUCH - 2, row) + 6 * aside
    back = (hit, table.at(stopped, row)), (seconds, table.at(stopped - 14, row))
    one = table.add((0.0, table.at(20, row)), *back, shape="ball")
    two = table.add((0.0, guard), (hit, guard), (hit + 14 / speed, guard + 8 * table.way + 12 * aside))
    three = table.add((0.0, table.at(rng.uniform(130, 172), row)))
    evidence = (
        Span(0, 0, int(hit), f"The {one} moves towards the {three} until it hits the {two}."),
        Span(1, int(hit), 6, f"The {two} takes the blow and moves."),
        Span(2, 0, 6, f"The {three} lies in the way that the {one} was taking."),
    )
    text = f"If the {two} had not been on the table, which object would the {one} have touched first?"
    return table.show(seconds, DrawnQuestion(text, three, "Physical Counterfactual", evidence))


def _set_in_motion(rng: random.Random, strangers: int, slow: bool = False, links: int = 2) -> Sequence[DrawnScene]:
    """One thing hits another, and that perhaps a third."""
    table, speed, seconds = _Table(rng, strangers), 13.0 if slow else 36.0, 5 + links if slow else 3
    times = [rng.choice((2.6, 2.9)) if slow else rng.uniform(0.7, 1.0) for _ in range(links - 1)]
    times.append(seconds - sum(times) if slow else 0.8)
    hits = table.add_chain(table.rows[0], [time * speed for time in times], speed)
    questions, since = list[DrawnQuestion](), 0
    for place, (time, one, other) in enumerate(hits):
        cause = Span(place, since, int(time), f"The {one} moves up to the {other} and hits it.")
        effect = Span(place + 1, int(time), seconds - 1, f"Hit by the {one}, the {other} starts to move.")
        text = f"Which object sets the {other} in motion?"
        questions.append(DrawnQuestion(text, one, "Why Questions (Causal Reasons)", (cause, effect)))
        since = int(time)
    asked = questions[-1:]
    if slow and links == 3:
        (_, one, two), (_, _, three) = hits
        text = f"By way of which object does the {one} set the {three} in motion?"
        proof = (questions[0].evidence[0], *questions[1].evidence)
        asked.insert(0, DrawnQuestion(text, two, "How Questions (Mechanisms)", proof))
    return table.show(seconds, *asked)


def _other_way(rng: random.Random, strangers: int, quarter: bool = False) -> Sequence[DrawnScene]:
    """Started in another direction, what would a ball have touched?"""
    table, turn, how = _Table(rng, strangers), -1 + 0j, "in the opposite direction"
    if quarter:
        turn, how = 1j, "a quarter turn clockwise from its real direction"
    table.rows.sort(key=lambda row: row != 1)
    start, way = complex(WIDTH / 2, 64), table.way
    mover = table.add(*ride([start, start + 28 * way], 30.0, 0.4), shape="ball")
    table.add(*ride([start + (28 + TOUCH) * way, start + (44 + TOUCH) * way], 30.0, 0.4 + 28 / 30))
    goal = table.add((0.0, start + turn * way * (40 if quarter else rng.uniform(44, 76))))
    text = f"If the {mover} had started with the same speed, but {how}, which object would it have touched first?"
    return table.show(2.4, DrawnQuestion(text, goal), edges=True)


def _plan(rng: random.Random, strangers: int) -> Sequence[DrawnScene]:
    """A ball comes to rest; in which direction does it have to go on?"""
    table, wanted = _Table(rng, strangers), rng.choice(list(DIRECTIONS))
    table.rows.sort(key=lambda row: row != 1)
    rest = complex(WIDTH / 2, 64)
    start = rest + 42 * rng.choice([side for side in (1, -1) if side != wanted])
    mover = table.add((0.0, start), (1.2, start + 0.8 * (rest - start)), (2.0, rest), shape="ball")
    goal = table.add((0.0, rest + 38 * wanted))
    text = (
        f"The {mover} is to hit the {goal} first. In which direction must an arm push it from where it lies at the end "
        "of the clip?"
    )
    return table.show(2.6, DrawnQuestion(text, DIRECTIONS[wanted][0]), edges=True)


def _fixed(rng: random.Random) -> Sequence[DrawnScene]:
    """One thing bounces off something that does not give way, another pushes something that does."""
    table, hit = _Table(rng, strangers=1), rng.choice((2.4, 2.6, 3.4))
    row, other_row, _ = table.rows
    start = rng.uniform(24, 50)
    met = table.at(start + 15 * hit, row)
    one = table.add((0.0, table.at(start, row)), (hit, met), (7.0, met - table.way * 8.0 * (7.0 - hit)))
    two = table.add((0.0, met + TOUCH * table.way))
    ((_, three, _),) = table.add_chain(other_row, [rng.choice((2.5, 3.5)) * 13, 40.0], 13.0)
    evidence = (
        Span(0, 0, 6, f"The {one} hits the {two} and bounces back."),
        Span(1, int(hit), 6, f"Hit by the {one}, the {two} does not move at all."),
    )
    movers = " and the ".join(sorted((one, three)))
    text = f"Judging by how the {movers} move: which object must be fastened to the table?"
    return table.show(7.0, DrawnQuestion(text, two, "Environmental Condition Inference", evidence), rows=2)


def _collisions(rng: random.Random, shapes: Sequence[str]) -> Sequence[DrawnScene]:
    """A chain of three hits a second after each other, and between two of them a hit that has nothing to do with it."""
    table, gap = _Table(rng), rng.uniform(20, 25)
    row, other_row, _ = table.rows
    hits = table.add_chain(row, [gap, gap, gap, 10.0], gap, 0.3, shapes)
    aside = rng.choice((0.8, 1.8, 2.8, 3.8))
    hits += table.add_chain(other_row, [20.0 * aside, 20.0], 20.0, 0.0, shapes)
    return [replace(scene, hits=tuple(sorted(hits))) for scene in table.show(5.0)]


def _pair(
    question: str, answers: Sequence[str], casts: Sequence[Sequence[DrawnBody]], behind: Sequence[Rect] = _RIMS,
    before: Sequence[Rect] = (), symmetric: bool = False, seconds: float = 2.8,
) -> Sequence[DrawnScene]:  # fmt: skip
    """Two scenes that differ in their bodies alone, and have other answers to one question."""
    asked = (DrawnQuestion(question, answer, symmetric=symmetric) for answer in answers)
    pairs = zip(casts, asked, strict=True)
    return [DrawnScene(tuple(cast), seconds, tuple(behind), tuple(before), (one,)) for cast, one in pairs]


def _ball(colour: str, stops: Iterable[Stop]) -> DrawnBody:
    return DrawnBody(colour, "ball", tuple(stops))


def _in_or_out(rng: random.Random) -> Sequence[DrawnScene]:
    """A hand puts a ball into a box, or takes it out."""
    colour, box, ground = rng.choice(list(COLOURS)), rng.uniform(125, 155), rng.uniform(30, 70)
    low, high, up, away = LOW * 1j, 56j, -TOUCH * 1j, 30j

    def carry(start: float, end: float) -> list[DrawnBody]:
        stops = ((0.0, start + low), (0.7, start + low), (1.1, start + high), (1.7, end + high), (2.1, end + low))
        held = [(time, at + up) for time, at in stops[1:]]
        hand = ((0.0, start + away), *held, (2.2, end + low + up), (2.7, end + away))
        return [_ball(colour, stops), DrawnBody("", "hand", hand)]

    sides = [(box + side - 2, FLOOR - 24, box + side + 2, FLOOR) for side in (-17, 17)]
    answers = "It puts the ball into the box", "It takes the ball out of the box"
    casts, seconds = (carry(ground, box), carry(box, ground)), rng.choice((2.8, 3.0))
    return _pair(f"What does the hand do with the {colour} ball?", answers, casts, (_FLOOR, *sides), seconds=seconds)


def _possible_or_not(
    colour: str, ways: Sequence[Sequence[Stop]], behind: Sequence[Rect], before: Sequence[Rect] = ()
) -> Sequence[DrawnScene]:
    """A ball moves in a way that can happen, and in one that cannot; behind a board also where time runs backwards."""
    question = f"Could the {colour} ball really move as it does in this clip?"
    casts = [[_ball(colour, way)] for way in ways]
    return _pair(question, ("Yes, it could", "No, it could not"), casts, behind, before, symmetric=bool(before))


def _vanishes_or_not(rng: random.Random) -> Sequence[DrawnScene]:
    """A ball rolls behind a board and comes out on the other side, or never."""
    colour, left, start = rng.choice(list(COLOURS)), rng.uniform(66, 86), complex(12, LOW)
    gone = ride([start, complex(left + 22, LOW)], 60.0)
    ways = ride([start, start + 168], 60.0), [*gone, (gone[-1][0], -WIDTH + 0j)]
    return _possible_or_not(colour, ways, (_FLOOR,), ((left, 76, left + 44, FLOOR),))


def _falls_or_hovers(rng: random.Random) -> Sequence[DrawnScene]:
    """A ball rolls off a ledge and falls, or rolls on through the air."""
    colour, edge, top = rng.choice(list(COLOURS)), rng.uniform(56, 76), rng.uniform(46, 70)
    start, over, lands = complex(12, top - RADIUS), complex(edge + 5, top - RADIUS), complex(edge + 35, LOW)
    step, rolls = lands - over, ride([start, over], 44.0)
    falls = [
        (rolls[-1][0] + 0.6 * part, over + complex(step.real * part, step.imag * part**2))
        for part in (0.25, 0.5, 0.75, 1.0)
    ]
    ways = [*rolls, *falls, (2.8, lands + 14)], ride([start, start + 130], 44.0)
    return _possible_or_not(colour, ways, (_FLOOR, (-WIDTH, top, edge, top + 6)))


def _who_hits_whom(rng: random.Random) -> Sequence[DrawnScene]:
    """One of two balls hits the other."""
    colours, casts = rng.sample(list(COLOURS), 2), []
    places = [complex(x, rng.uniform(44, 84)) for x in (rng.uniform(46, 60), rng.uniform(126, 140))]
    for order in (1, -1):
        start, struck = places[::order]
        way = (struck - start) / abs(struck - start)
        hits = ride([start, struck - TOUCH * way], 60.0, 0.4)
        moves = [hits, ride([struck, struck + 24 * way], 30.0, hits[-1][0])]
        casts.append(list(map(_ball, colours, moves[::order])))
    return _pair("Which ball sets the other one in motion?", [f"The {colour} ball" for colour in colours], casts)


CONDITIONS = ("permanence", "immutability", "immutability_texture", "continuity", "continuity_swap", "solidity")


def _violation(rng: random.Random, condition: str, bystanders: int, camera_moves: bool) -> Sequence[DrawnScene]:
    """Two scenes that can happen; where they look the same, one may be joined to the other, which then cannot."""
    colour, other, *passing = rng.sample(list(COLOURS), 4)
    width, gap, left, start = 32.0, 34.0, 52.0, rng.uniform(12, 14)
    boards: list[Rect] = [(x, 78, x + width, FLOOR) for x in (left, left + width + gap)]
    behind: list[Rect] = [_FLOOR]

    def rolls(colour: str, x: float) -> DrawnBody:
        return _ball(colour, ride([complex(x, LOW), complex(x + speed * seconds, LOW)], speed))

    if condition in ("permanence", "immutability", "immutability_texture"):
        seconds, speed = 3.8, 43.0
        moments = [(x + width / 2 - start) / speed for x, *_ in boards]
        ball = rolls(colour, start)
        twins = {"immutability": [replace(ball, shape="block")], "immutability_texture": [rolls(other, start)]}
        casts = [[ball], twins.get(condition, [])]
    elif condition == "solidity":
        seconds, speed, middle, start = 3.2, 62.0, WIDTH / 2, 66 + start
        behind.append((middle - 3, 60, middle + 3, FLOOR))
        boards = [(middle - 36, 84, middle + 36, FLOOR)]
        moments = [(start - 3 - RADIUS) / speed + 0.1]
        ways = [[complex(middle + side * x, LOW) for x in (start, 3 + RADIUS, start)] for side in (-1, 1)]
        casts = [[_ball(colour, ride(way, speed))] for way in ways]
    else:
        seconds, speed, before = 2.8, 25.0, 8 + start
        moments = [(before + width / 2) / speed]
        near, far = ([rolls(body, x - before) for body in (colour, other)] for x, *_ in boards)
        casts = [[near[0]], [far[0]]] if condition == "continuity" else [[near[0], far[1]], [far[0], near[1]]]
    if bystanders:
        behind.append((-WIDTH, 40, 2 * WIDTH, 44))
    around = [
        _ball(one, ride([x, x + 90], 15.0)) for one, x in zip(passing[:bystanders], (24 + 30j, 84 + 30j), strict=False)
    ]
    return [
        DrawnScene(
            (*cast, *around), seconds, tuple(behind), tuple(boards), moments=tuple(moments), camera_moves=camera_moves
        )
        for cast in casts
    ]


LEVELS = ("easy", "med", "hard")
TABLE_QUESTIONS: Mapping[str, tuple[Callable[..., Sequence[DrawnScene]], Mapping[str, object]]] = {
    "anticipation": (_touch_first, {}),
    "counterfactual": (_without, {}),
    "descriptive": (_set_in_motion, {"links": 3}),
    "hypothetical": (_other_way, {"quarter": True}),
    "planning": (_plan, {}),
}
"""Type of question to what draws it, and what makes it harder beside more strangers."""
CHAINS: Mapping[str, Script] = {
    "why": partial(_set_in_motion, strangers=3, slow=True),
    "how": partial(_set_in_motion, strangers=2, slow=True, links=3),
    "without": partial(_without, strangers=2, slow=True),
    "next": partial(_touch_first, strangers=3, slow=True),
    "fixed": _fixed,
}
"""Slow scenes, whose questions are to be answered with evidence."""
KINDS: Mapping[str, Script] = {
    **{
        f"{name} {level}": partial(script, strangers=1 + number, **harder if number else {})
        for name, (script, harder) in TABLE_QUESTIONS.items()
        for number, level in enumerate(LEVELS)
    },
    **CHAINS,
    "in_or_out": _in_or_out,
    "vanishes_or_not": _vanishes_or_not,
    "falls_or_hovers": _falls_or_hovers,
    "who_hits_whom": _who_hits_whom,
    "collisions of balls": partial(_collisions, shapes=SHAPES[:1]),
    "collisions": partial(_collisions, shapes=SHAPES),
    **{
        f"{name} {number} {camera}": partial(_violation, condition=name, bystanders=number, camera_moves=moves)
        for name in CONDITIONS
        for number in range(3)
        for camera, moves in (("Fixed", False), ("Moving", True))
    },
}
"""Every kind of scene and what draws it; its place here is part of a scene's code."""
