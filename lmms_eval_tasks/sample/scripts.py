"""Scripts of the clips: motion, questions about it and their truth, drawn anew from a scene's code."""

from __future__ import annotations

import math
import random
import re
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
FAST, SLOW = 36.0, 15.0
"""Pixels a second."""
DIRECTIONS = {"straight up": -1j, "straight down": 1j, "straight to the right": 1, "straight to the left": -1}
"""Steps in the picture, x to the right and 1j downwards."""
LENGTH = 105.0
"""How far a body gets in most scenes of a table."""


Script = Callable[..., Sequence[DrawnScene]]


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

    def add_chain(self, row: int, gaps: Sequence[float], speed: float, shape: str = "") -> list[tuple[float, str, str]]:
        """Bodies in a row, of which each moves over its gap until it hits the next; return the hits."""
        names, times, x = list[str](), [0.0], 20.0
        for gap in gaps:
            way = [self.at(x, row), self.at(x + gap, row)]
            names.append(self.add(*ride(way, speed, times[-1]), shape=shape))
            times.append(times[-1] + gap / speed)
            x += gap + TOUCH
        return [(time, *pair) for time, pair in zip(times[1:], pairwise(names), strict=False)]

    def show(self, seconds: float, *questions: DrawnQuestion, edges: bool = False) -> list[DrawnScene]:
        """The scene of the table, with strangers in the rows in which nothing happens, or at their ends only."""
        places = [(20 + 30 * column, row) for row in self.rows[1:] for column in ((0, 5) if edges else range(6))]
        for place in self.rng.sample(places, self.strangers):
            self.add((0.0, self.at(*place)))
        return [DrawnScene(tuple(self.bodies), seconds, behind=_RIMS, questions=questions)]


def _touch_first(rng: random.Random, strangers: int, speed: float = FAST) -> Sequence[DrawnScene]:
    """A ball heads for something when the clip stops."""
    table, start = _Table(rng, strangers), rng.uniform(20, 50)
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


def _without(rng: random.Random, strangers: int, speed: float = FAST) -> Sequence[DrawnScene]:
    """A ball is kept by something from reaching something else."""
    table, way, seconds = _Table(rng, strangers), rng.uniform(32, 43), LENGTH / speed
    row, hit, last = table.rows[0], way / speed, math.ceil(seconds) - 1
    aside = -1j if row == 2 else 1j
    guard = table.at(18 + way + TOUCH, row) + 6 * aside
    back = (hit, table.at(20 + way, row)), (seconds, table.at(6 + way, row))
    one = table.add((0.0, table.at(20, row)), *back, shape="ball")
    two = table.add((0.0, guard), (hit, guard), (hit + 14 / speed, guard + 8 * table.way + 12 * aside))
    three = table.add((0.0, table.at(rng.uniform(130, 172), row)))
    evidence = (
        Span(0, 0, int(hit), f"The {one} moves towards the {three} until it hits the {two}."),
        Span(1, int(hit), last, f"The {two} takes the blow and moves."),
        Span(2, 0, last, f"The {three} lies in the way that the {one} was taking."),
    )
    text = f"If the {two} had not been on the table, which object would the {one} have touched first?"
    return table.show(seconds, DrawnQuestion(text, three, "Physical Counterfactual", evidence))


def _set_in_motion(rng: random.Random, strangers: int, speed: float = FAST) -> Sequence[DrawnScene]:
    """One thing hits another, and that a third; the last question is about the last hit."""
    table, seconds, gaps = _Table(rng, strangers), LENGTH / speed, [rng.uniform(26, 36), rng.uniform(26, 36), 29.0]
    (first, one, two), (second, _, three) = table.add_chain(table.rows[0], gaps, speed)
    cause = Span(0, 0, int(first), f"The {one} moves up to the {two} and hits it.")
    link = Span(1, int(first), int(second), f"The {two} moves up to the {three} and hits it.")
    effect = Span(2, int(second), math.ceil(seconds) - 1, f"Hit by the {two}, the {three} starts to move.")
    how, why = (
        f"By way of which object does the {one} set the {three} in motion?",
        f"Which object sets the {three} in motion?",
    )
    return table.show(
        seconds,
        DrawnQuestion(how, two, "How Questions (Mechanisms)", (cause, link, effect)),
        DrawnQuestion(why, two, "Why Questions (Causal Reasons)", (link, effect)),
    )


def _other_way(rng: random.Random, strangers: int) -> Sequence[DrawnScene]:
    """Started in the opposite direction, what would a ball have touched?"""
    table = _Table(rng, strangers)
    table.rows.sort(key=lambda row: row != 1)
    start, way = complex(WIDTH / 2, 64), table.way
    mover = table.add(*ride([start, start + 28 * way], 30.0, 0.4), shape="ball")
    table.add(*ride([start + (28 + TOUCH) * way, start + (44 + TOUCH) * way], 30.0, 0.4 + 28 / 30))
    goal = table.add((0.0, start - way * rng.uniform(44, 76)))
    text = (
        f"If the {mover} had started with the same speed, but in the opposite direction, which object would it have "
        "touched first?"
    )
    return table.show(2.4, DrawnQuestion(text, goal), edges=True)


def _plan(rng: random.Random, strangers: int) -> Sequence[DrawnScene]:
    """A ball comes to rest; what will it hit where it is pushed in some direction?"""
    table, wanted = _Table(rng, strangers), rng.choice(list(DIRECTIONS))
    table.rows.sort(key=lambda row: row != 1)
    rest = complex(WIDTH / 2, 64)
    start = rest + 42 * rng.choice([side for side in (1, -1) if side != DIRECTIONS[wanted]])
    mover = table.add((0.0, start), (1.2, start + 0.8 * (rest - start)), (2.0, rest), shape="ball")
    goal = table.add((0.0, rest + 38 * DIRECTIONS[wanted]))
    text = f"An arm is to push the {mover} {wanted} from where it lies in the end. Which object will it hit first?"
    return table.show(2.6, DrawnQuestion(text, goal), edges=True)


def _collisions(rng: random.Random, shape: str = "") -> Sequence[DrawnScene]:
    """A chain of three hits a second after each other, and between two of them a hit that has nothing to do with it."""
    table, gap, aside = _Table(rng), rng.uniform(20, 25), rng.choice((0.5, 1.5, 2.5, 3.5))
    hits = table.add_chain(table.rows[0], [gap, gap, gap, 10.0], gap, shape)
    hits += table.add_chain(table.rows[1], [20.0 * aside, 20.0], 20.0, shape)
    return [replace(scene, hits=tuple(sorted(hits))) for scene in table.show(4.5)]


def _pair(
    question: str, answers: Sequence[str], casts: Sequence[Sequence[DrawnBody]], behind: Sequence[Rect] = _RIMS,
    before: Sequence[Rect] = (), symmetric: bool = False,
) -> Sequence[DrawnScene]:  # fmt: skip
    """Two scenes that differ in their bodies alone, and have other answers to one question."""
    asked = (DrawnQuestion(question, answer, symmetric=symmetric) for answer in answers)
    pairs = zip(casts, asked, strict=True)
    return [DrawnScene(tuple(cast), 2.8, tuple(behind), tuple(before), (one,)) for cast, one in pairs]


def _ball(colour: str, stops: Iterable[Stop]) -> DrawnBody:
    return DrawnBody(colour, "ball", tuple(stops))


def _in_or_out(rng: random.Random) -> Sequence[DrawnScene]:
    """A hand puts a ball into a box, or takes it out."""
    colour, ground, box = rng.choice(list(COLOURS)), rng.uniform(30, 70), rng.uniform(125, 155)
    low, high, casts = LOW * 1j, 56j, list[list[DrawnBody]]()
    for start, end in ((ground, box), (box, ground)):
        held = [(0.7, start + low), (1.1, start + high), (1.7, end + high), (2.1, end + low)]
        hand = [(0.0, start + 30j), *((time, at - TOUCH * 1j) for time, at in held), (2.7, end + 30j)]
        casts.append([_ball(colour, held), DrawnBody("", "hand", tuple(hand))])
    sides = [(box + side - 2, FLOOR - 24, box + side + 2, FLOOR) for side in (-17, 17)]
    answers = "It puts the ball into the box", "It takes the ball out of the box"
    return _pair(f"What does the hand do with the {colour} ball?", answers, casts, (_FLOOR, *sides))


COULD = "Could the {} ball really move as it does in this clip?"
IT_COULD = "Yes, it could", "No, it could not"


def _vanishes_or_not(rng: random.Random) -> Sequence[DrawnScene]:
    """A ball rolls behind a board and comes out on the other side, or never, also where time runs backwards."""
    colour, left, start = rng.choice(list(COLOURS)), rng.uniform(66, 86), complex(12, LOW)
    gone = ride([start, complex(left + 22, LOW)], 60.0)
    ways = ride([start, start + 168], 60.0), [*gone, (gone[-1][0], -WIDTH + 0j)]
    casts, board = [[_ball(colour, way)] for way in ways], (left, 76, left + 44, FLOOR)
    return _pair(COULD.format(colour), IT_COULD, casts, (_FLOOR,), (board,), symmetric=True)


def _falls_or_hovers(rng: random.Random) -> Sequence[DrawnScene]:
    """A ball rolls off a ledge and falls, or rolls on through the air."""
    colour, edge, top = rng.choice(list(COLOURS)), rng.uniform(56, 76), rng.uniform(46, 70)
    start, over, lands = complex(12, top - RADIUS), complex(edge + 5, top - RADIUS), complex(edge + 35, LOW)
    step, rolls = lands - over, ride([start, over], 44.0)
    parts = (0.25, 0.5, 0.75, 1.0)
    falls = [(rolls[-1][0] + 0.6 * part, over + complex(step.real * part, step.imag * part**2)) for part in parts]
    ways = [*rolls, *falls, (2.8, lands + 14)], ride([start, start + 130], 44.0)
    casts, ledge = [[_ball(colour, way)] for way in ways], (-WIDTH, top, edge, top + 6)
    return _pair(COULD.format(colour), IT_COULD, casts, (_FLOOR, ledge))


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
    """Two scenes that can happen, in which balls roll behind two boards. While these hide them the scenes look the
    same, and one may be joined to the other, which then cannot happen."""
    colour, other, *passing = rng.sample(list(COLOURS), 4)
    start, speed, seconds, hidden = rng.uniform(12, 14), 43.0, 3.8, (63.0, 129.0)
    behind, before = [_FLOOR], [(x - 16, 78, x + 16, FLOOR) for x in hidden]

    def rolls(colour: str, *places: float) -> DrawnBody:
        return _ball(colour, ride([complex(x, LOW) for x in places], speed))

    near, far = (start, start + speed * seconds), (start + 66, start + 66 + speed * seconds)
    bounces = [start, 69.0, start]
    ball = rolls(colour, *near)
    casts: Sequence[Sequence[DrawnBody]] = {
        "permanence": ([ball], []),
        "immutability": ([ball], [replace(ball, shape="block")]),
        "immutability_texture": ([ball], [rolls(other, *near)]),
        "continuity": ([ball], [rolls(colour, *far)]),
        "continuity_swap": ([ball, rolls(other, *far)], [rolls(colour, *far), rolls(other, *near)]),
        "solidity": ([rolls(colour, *bounces)], [rolls(colour, *(WIDTH - x for x in bounces))]),
    }[condition]
    if condition == "solidity":  # a wall between the boards, from which the ball bounces back
        behind.append((79, 60, 113, FLOOR))
    # Only what rolls past both boards can be another thing between them.
    moments = tuple((x - start) / speed for x in (hidden if condition in CONDITIONS[:3] else hidden[:1]))
    if bystanders:
        behind.append((-WIDTH, 40, 2 * WIDTH, 44))
    places = zip(passing[:bystanders], (24 + 30j, 84 + 30j), strict=False)
    around = [_ball(one, ride([x, x + 90], 15.0)) for one, x in places]
    scene = DrawnScene((), seconds, tuple(behind), tuple(before), moments=moments, camera_moves=camera_moves)
    return [replace(scene, bodies=(*cast, *around)) for cast in casts]


LEVELS = ("easy", "med", "hard")
TABLE_QUESTIONS: Mapping[str, Script] = {
    "anticipation": _touch_first,
    "counterfactual": _without,
    "descriptive": _set_in_motion,
    "hypothetical": _other_way,
    "planning": _plan,
}
"""Type of question to what draws it, with so many strangers on the table."""
CHAINS: Mapping[str, Script] = {
    "how": partial(_set_in_motion, strangers=2, speed=SLOW),
    "without": partial(_without, strangers=2, speed=SLOW),
    "next": partial(_touch_first, strangers=3, speed=SLOW),
}
"""Slow scenes, whose questions are to be answered with evidence."""
KINDS: Mapping[str, Script] = {
    **{
        f"{name} {level}": partial(script, strangers=number)
        for name, script in TABLE_QUESTIONS.items()
        for number, level in enumerate(LEVELS, 1)
    },
    **CHAINS,
    "in_or_out": _in_or_out,
    "vanishes_or_not": _vanishes_or_not,
    "falls_or_hovers": _falls_or_hovers,
    "who_hits_whom": _who_hits_whom,
    "collisions of balls": partial(_collisions, shape="ball"),
    "collisions": _collisions,
    **{
        f"{name} {number} {camera}": partial(_violation, condition=name, bystanders=number, camera_moves=moves)
        for name in CONDITIONS
        for number in range(3)
        for camera, moves in (("Fixed", False), ("Moving", True))
    },
}
"""Every kind of scene and what draws it; its place here is part of a scene's code."""


# ---- the words of questions and options ----------------------------------------------------------------------------

OBJECTS = tuple(f"{colour} {shape}" for colour in COLOURS for shape in SHAPES)
_OBJECT = re.compile("|".join(OBJECTS))


def read_objects(text: str) -> list[str]:
    """The objects that a text names, in order, as in `red ball`."""
    return _OBJECT.findall(text.lower())


def meaning(option: str) -> object:
    """What options of other wordings have in common."""
    return tuple(read_objects(option)) or option.strip(" .").casefold()


def reworded(text: str) -> str:
    """An option in its other wording, `The red ball` or `It is the red ball`; any other text as it is."""
    names = read_objects(text)
    if len(names) != 1:
        return text
    return f"It is the {names[0]}" if text == f"The {names[0]}" else f"The {names[0]}"


def draw_options(rng: random.Random, scene: DrawnScene, asked: DrawnQuestion, count: int, place: int) -> list[str]:
    """Objects with the right one at a place; wrong ones are present where they can be, and of no colour asked about."""
    colours = {name.split()[0] for name in read_objects(asked.text)}
    wrong = [name for name in OBJECTS if name != asked.answer and name.split()[0] not in colours]
    rng.shuffle(wrong)
    present = {body.name for body in scene.bodies}
    wrong = sorted(wrong, key=lambda name: name not in present)[: count - 1]
    rng.shuffle(wrong)
    wrong.insert(place, asked.answer)
    return [f"The {name}" for name in wrong]
