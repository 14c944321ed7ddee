"""Families in which bodies strike bodies: rows, chains, crossing ways, and causes that another cause would replace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import (
    Drawing,
    Palette,
    aside,
    changed,
    family_of,
    row_of,
    scenery,
    shuffled,
    side,
    slowed,
    with_bystanders,
)
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene

Random = np.random.Generator


# ---- backup: a second cause stands ready ----------------------------------------------------------------------------


def backup(random: Random, palette: Palette) -> Drawing:
    """One link: a ball hits another; a third comes later to where that one lay. Two links: a row."""
    depth = int(random.integers(1, 3))
    bodies = _late(random, palette) if depth == 1 else _row_with_room(random, palette)
    sides = (-0.8, -0.75) if bodies[-1].place[1] > 0.3 else (0.8, 0.75)
    away_from = [bodies[-1].place[0]] if depth == 1 else []
    return with_bystanders(random, palette, depth, bodies, sides, away_from)


def _row_with_room(random: Random, palette: Palette) -> list[Body]:
    direction, row = side(random), random.uniform(-0.15, 0.15)
    radius = random.uniform(0.11, 0.13)
    first = palette.ball(radius, -1.15 * direction, row, (direction * random.uniform(2.0, 2.6), 0.0))
    places = [direction * float(x) for x in (random.uniform(-0.4, -0.2), random.uniform(0.35, 0.6))]
    return [first, *row_of(random, palette, places, row, radius, tips=0.6)]


def _late(random: Random, palette: Palette) -> list[Body]:
    """A ball that hits another from the side, and one that comes from behind or from the front when it has gone."""
    direction, x = side(random), random.uniform(-0.2, 0.2)
    radius = random.uniform(0.11, 0.13)
    target = row_of(random, palette, [x], 0.0, radius, tips=0.0)[0]
    speed, way = random.uniform(2.2, 2.8), random.uniform(0.7, 0.85)
    first = palette.ball(radius, x - direction * way, 0.0, (direction * speed, 0.0), mass=0.35)
    # So far away that it comes where the target lay when that one is gone.
    later, behind = random.uniform(0.45, 0.6), side(random)
    slow = random.uniform(1.2, 1.5)
    far = min(slow * ((way - 2 * radius) / speed + later), 0.95)
    second = palette.ball(radius, x, behind * far, (0.0, -behind * slow), mass=0.5)
    return [first, target, second]


def vary_backup(scene: Scene, random: Random) -> Sequence[Body]:
    """The first ball is too slow, comes along another line, or the one in the middle is too heavy to go on."""
    first, middle = scene.bodies[:2]
    return shuffled(random, slowed(first, 0.2), aside(first, 0.4 * side(random)), changed(middle, mass=12.0))


# ---- chain: each body sets the next in motion -----------------------------------------------------------------------

STEP = {2: 0.74, 3: 0.58, 4: 0.48}
"""Metres from one body to the next, by the number of links."""


def chain(random: Random, palette: Palette) -> Drawing:
    """Two to four links, with a turn at each, so that each is needed; the last is a ball or stands and may tip."""
    depth = int(random.integers(2, 5))
    direction, turning = side(random), side(random)
    radius = random.uniform(0.125, 0.14)
    wide = {2: 0.50, 3: 0.64, 4: 0.70}[depth] + random.uniform(-0.03, 0.03)
    # The ball comes along x, then its way and those of the others turn to and fro.
    angles = [0.0] + [turning * wide * (link % 2) for link in range(1, depth + 1)]
    place = np.array([-1.2 if depth > 2 else -1.1, -turning * (0.25 if depth > 2 else 0.15)])
    ways = [np.array([np.cos(angle), np.sin(angle)]) for angle in angles]
    places = [place]
    for link in range(depth):
        run = STEP[depth] * random.uniform(0.97, 1.03) - 2 * radius
        place = place + run * ways[link] + 2 * radius * ways[link + 1]
        places.append(place)
    fast = 1.0 if depth < 4 else 1.15
    bodies = []
    for link, (x, y) in enumerate(places):
        speed = direction * random.uniform(2.8, 3.4) * fast if link == 0 else 0.0
        if link == depth and random.random() < 0.4:
            # A box whose flat side faces what comes.
            half = radius * random.uniform(1.2, 1.4)
            turn = [0.0, 0.0, float(np.degrees(direction * angles[link - 1]))]
            upright = [direction * x, y, half]
            bodies.append(palette.body("box", [0.04, 0.12, half], upright, turn=turn, mass=0.1, friction=0.8))
        else:
            mass = 0.8 * 0.8**link
            bodies.append(palette.ball(radius, direction * x, y, (speed, 0.0), mass=mass, bounce=0.9))
    return with_bystanders(random, palette, depth, bodies, (-0.75, 0.85))


def vary_chain(scene: Scene, random: Random) -> Sequence[Body]:
    """A link is too heavy to go on, the first ball too slow, or a link stands aside."""
    link = scene.bodies[int(random.integers(1, scene.depth + 1))]
    moved = aside(link, 0.4 * side(random))
    heavy = changed(scene.bodies[int(random.integers(1, scene.depth))], mass=12.0)
    return shuffled(random, heavy, slowed(scene.bodies[0], 0.2), moved)


# ---- crossing: two balls, each towards bodies of its own (to train on) -----------------------------------------------


def crossing(random: Random, palette: Palette) -> Drawing:
    """One or two bodies in the way of the ball from the side, a box that tips in the way of the one from the front."""
    depth = int(random.integers(1, 3))
    direction = side(random)
    back = random.uniform(0.35, 0.5)
    from_side = palette.ball(0.12, -1.15 * direction, back, (direction * random.uniform(1.8, 2.8), 0.0))
    places = [direction * (-0.4 + 0.6 * link + random.uniform(-0.06, 0.06)) for link in range(depth)]
    in_row = row_of(random, palette, places, back, 0.12, tips=0.4)
    x = random.uniform(0.5, 0.8) * -direction
    speed = random.uniform(1.4, 2.2)
    from_front = palette.body("ball", [0.1], [x, -1.0, 0.1], velocity=[0.0, speed, 0.0], mass=0.6)
    half = random.uniform(0.14, 0.18)
    place = [x, random.uniform(-0.4, -0.3), half]
    tips = palette.body("box", [0.09, 0.04, half], place, mass=0.12, friction=0.8)
    return Drawing(depth, [from_side, *in_row, from_front, tips], distractors=2)


def vary_crossing(scene: Scene, random: Random) -> Sequence[Body]:
    """The ball from the side is too slow."""
    return (slowed(scene.bodies[0], 0.15),)


# ---- dominoes: a row of upright boxes -------------------------------------------------------------------------------

HALF = 0.17
"""Half the height of a box of the row."""
BETWEEN, GAP = 0.2, 0.5
"""Metres between two boxes, and where the row is broken."""


def dominoes(random: Random, palette: Palette) -> Drawing:
    """Three to six boxes that a ball topples; in many scenes a gap or a heavy box ends the fall."""
    direction, row = side(random), random.uniform(-0.15, 0.15)
    number = int(random.integers(3, 7))
    broken = str(random.choice(["no", "no", "gap", "gap", "heavy"])) if number > 3 else "no"
    at = int(random.integers(2, number)) if broken != "no" else number
    steps = [GAP if broken == "gap" and link == at else BETWEEN for link in range(1, number)]
    places = np.concatenate([[0.0], np.cumsum(steps)])
    start = -places[-1] / 2 + 0.1
    half = HALF * random.uniform(0.95, 1.05)
    radius = random.uniform(0.14, 0.15)
    x, speed = direction * (start - random.uniform(0.45, 0.6)), direction * random.uniform(1.3, 1.7)
    bodies = [palette.ball(radius, x, row, (speed, 0.0), mass=0.5, friction=0.3, bounce=0.3)]
    for link, place in enumerate(places):
        heavy = broken == "heavy" and link == at
        size, mass = [0.1 if heavy else 0.03, 0.1, half], 4.0 if heavy else 0.2
        upright = [direction * (start + place + (0.07 if heavy else 0.0)), row, half]
        bodies.append(palette.body("box", size, upright, mass=mass, friction=0.6, bounce=0.15))
    return with_bystanders(random, palette, at, bodies, (-0.7, 0.72))


def vary_dominoes(scene: Scene, random: Random) -> Sequence[Body]:
    """The ball is too slow to topple the first box, a box of the row is heavy, or one stands aside."""
    row = scene.bodies[1 : len(scene.bodies) - scene.distractors]
    link = row[int(random.integers(1, scene.depth))]
    return [slowed(scene.bodies[0], 0.2), changed(link, mass=link.mass * 40), aside(link, 0.35)]


# ---- elastic: forwards and backwards look alike ---------------------------------------------------------------------

WHOLE = {"friction": 0.0, "bounce": 1.0}
"""Nothing is lost by friction, and bodies are thrown back whole."""


def elastic(random: Random, palette: Palette) -> Drawing:
    """One to three links in a row, of balls of one mass or of a heavy first one; a wall at the end in half of them."""
    depth = int(random.integers(1, 4))
    direction, row = side(random), random.uniform(-0.15, 0.15)
    radius = random.uniform(0.10, 0.13)
    gap = random.uniform(0.5, 0.62) if depth > 1 else random.uniform(0.6, 0.9)
    bodies = []
    for link in range(depth + 1):
        x = direction * (-1.1 + gap * link + (random.uniform(-0.04, 0.04) if link else 0.0))
        fast = direction * random.uniform(0.9, 1.3) if link == 0 else 0.0
        mass = 1.5 if link == 0 and random.random() < 0.3 else 0.6
        bodies.append(palette.ball(radius, x, row, (fast, 0.0), mass=mass, **WHOLE))
    if random.random() < 0.5:
        bodies.append(scenery("grey wall", "wall", [0.03, 0.35, 0.12], [direction * 1.15, row, 0.12], **WHOLE))
    return with_bystanders(random, palette, depth, bodies, (-0.7, 0.75))


def vary_elastic(scene: Scene, random: Random) -> Sequence[Body]:
    """The first ball is too slow, a link is too heavy to go on, or one is aside."""
    slower = slowed(scene.bodies[0], 0.05)
    link = scene.bodies[int(random.integers(1, scene.depth + 1))]
    moved, heavy = aside(link, 0.4 * side(random)), changed(link, mass=40.0)
    # What cannot be seen at the start comes first.
    return (slower, heavy, moved) if random.random() < 0.5 else (heavy, slower, moved)


# ---- two causes: either is enough, or both are needed ---------------------------------------------------------------

LIGHT, HEAVY = (0.15, 0.3), (1.5, 2.1)
"""Kilograms of boxes that one ball pushes over, and of those that need two."""


def two_causes(random: Random, palette: Palette) -> Drawing:
    """One link: the box falls. Two links: it falls on a ball."""
    depth = int(random.integers(1, 3))
    direction, x = side(random), random.uniform(-0.1, 0.15)
    between, radius = random.uniform(0.15, 0.18), random.uniform(0.09, 0.11)
    way, speed = random.uniform(0.75, 0.95), random.uniform(2.0, 2.4)
    row = random.uniform(-0.1, 0.1)
    bodies = [
        palette.ball(radius, direction * (x - way), row + where * between, (direction * speed, 0.0), bounce=0.6)
        for where in (-1.0, 1.0)
    ]
    heavy = bool(random.random() < 1 / 3)
    half = random.uniform(0.17, 0.2)
    mass = float(random.uniform(*(HEAVY if heavy else LIGHT)))
    upright = [direction * x, row, half]
    bodies.append(palette.body("box", [0.05, 0.3, half], upright, mass=mass, friction=0.9, bounce=0.2))
    if depth == 2:
        size = radius * 0.95
        beyond = direction * (x + 0.05 + random.uniform(0.55, 0.8) * 2 * half + size)
        bodies.append(palette.ball(size, beyond, row, mass=0.3, bounce=0.6))
    return with_bystanders(random, palette, depth, bodies, (-0.75, 0.85))


def vary_two_causes(scene: Scene, random: Random) -> Sequence[Body]:
    """The box has another mass, or a ball is too slow."""
    ball, box = scene.bodies[int(random.integers(2))], scene.bodies[2]
    slower, very_heavy = slowed(ball, 0.2), changed(box, mass=14.0)
    return (slower, very_heavy) if box.mass >= HEAVY[0] else (very_heavy, slower)


# ---- two chains side by side ----------------------------------------------------------------------------------------


def two_chains(random: Random, palette: Palette) -> Drawing:
    """One to three links in the longer chain, one or two in the other; at different times, either way."""
    depth = int(random.integers(1, 4))
    other = int(random.integers(1, min(depth, 2) + 1))
    front = random.uniform(-0.38, -0.3)
    rows = [front, front + random.uniform(0.75, 0.85)]
    if random.random() < 0.5:
        rows.reverse()
    bodies: list[Body] = []
    for links, row in zip((depth, other), rows, strict=True):
        direction, radius = side(random), random.uniform(0.10, 0.12)
        start = random.uniform(-1.2, -1.0)
        gap = (0.75 - start) / (links + 0.5)
        places = [direction * (start + gap * link + random.uniform(-0.06, 0.06)) for link in range(1, links + 1)]
        bodies.append(palette.ball(radius, direction * start, row, (direction * random.uniform(1.6, 2.8), 0.0)))
        bodies += row_of(random, palette, places, row, radius, tips=0.4)
    return Drawing(depth, bodies, distractors=other + 1)


def vary_two_chains(scene: Scene, random: Random) -> Sequence[Body]:
    """The first ball of one chain is too slow, or a body of the longer one too heavy."""
    slower, other = slowed(scene.bodies[0], 0.15), slowed(scene.bodies[scene.depth + 1], 0.15)
    link = scene.bodies[int(random.integers(1, scene.depth + 1))]
    return shuffled(random, slower, other, changed(link, mass=15.0))


FAMILIES = (
    family_of(backup, vary_backup),
    family_of(chain, vary_chain),
    family_of(crossing, vary_crossing, for_training=True),
    family_of(dominoes, vary_dominoes),
    family_of(elastic, vary_elastic),
    family_of(two_causes, vary_two_causes),
    family_of(two_chains, vary_two_chains),
)
