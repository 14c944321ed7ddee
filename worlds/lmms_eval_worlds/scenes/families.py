"""The families of scenes: bodies that strike bodies, and bodies that fall, slide, swing or are hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from lmms_eval_worlds.scenes.family import (
    SMOOTH,
    Drawing,
    Palette,
    SceneFamily,
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
from lmms_eval_worlds.scenes.scene import GRAVITY, Body, Scene

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


def box_or_cylinder(random: Random, size: float) -> tuple[str, list[float]]:
    """Return the shape and sizes of a body, drawn among the two."""
    return ("box", [size] * 3) if random.random() < 0.5 else ("cylinder", [size, size])


# ---- containment: over the edge of a shelf, into a tray -------------------------------------------------------------

EDGE = -0.15
"""Where the shelf ends, for scenes that go from left to right."""
HEAVY_BOX = 5.0
"""Kilograms of a box that keeps a ball out."""
KINDS = ("in", "in", "kept out", "too fast", "too slow")


def containment(random: Random, palette: Palette) -> Drawing:
    """One or two lanes over the shelf, each with one to three balls that push each other on."""
    direction, high = side(random), random.uniform(0.34, 0.42)
    speed = random.uniform(1.25, 1.5)
    # A ball that leaves the shelf flies this far until it is as low as the tray's walls.
    flies = 0.85 * speed * float(np.sqrt(2 * (high - 0.14) / GRAVITY))
    middle = EDGE + flies + 0.1
    bodies = [
        scenery("brown shelf", "box", [0.55, 0.42, high / 2], [direction * (EDGE - 0.55), 0.0, high / 2], friction=0.0),
        scenery("grey tray", "tray", [0.24, 0.42, 0.07], [direction * middle, 0.0, 0.07], bounce=0.15, friction=0.8),
    ]
    lanes = 1 if random.random() < 0.35 else 2
    rows = [random.uniform(-0.1, 0.1)] if lanes == 1 else [-0.21, 0.21]
    depths = []
    for number, row in enumerate(rows):
        links = int(random.integers(1, 4 if lanes == 1 else 3))
        kind = KINDS[int(random.integers(4 + number))]
        radius = random.uniform(0.075, 0.085)
        end = EDGE - (0.38 if kind == "kept out" else 0.14)
        places = np.linspace(EDGE - 0.95, end, links) if links > 1 else [EDGE - 0.75]
        factor = {"too slow": 0.25, "too fast": 2.0}.get(kind, 1.0) * (1.0 + 0.06 * (links - 1))
        for place, x in enumerate(places):
            velocity = [direction * speed * factor if place == 0 else 0.0, 0.0, 0.0]
            on_shelf = [direction * x, row, high + radius]
            bodies.append(
                palette.body("ball", [radius], on_shelf, velocity=velocity, mass=0.4, friction=SMOOTH, bounce=0.9)
            )
        if kind == "kept out":
            half = random.uniform(0.09, 0.11)
            on_shelf = [direction * (EDGE - 0.13), row, high + half]
            bodies.append(palette.body("box", [0.08, half, half], on_shelf, mass=HEAVY_BOX, friction=0.8, bounce=0.3))
        depths.append(links + (kind == "kept out"))
    return with_bystanders(random, palette, max(depths), bodies, (-0.72,))


def vary_containment(scene: Scene, random: Random) -> Sequence[Body]:
    """A ball is much slower or faster, or the box that keeps one out is so light that it does not."""
    pushers = [body for body in scene.bodies if any(body.velocity)]
    pusher = pushers[int(random.integers(len(pushers)))]
    boxes = [body for body in scene.bodies if body.mass == HEAVY_BOX]
    return [slowed(pusher, 0.2), slowed(pusher, 2.2), *(changed(box, mass=0.05) for box in boxes)]


# ---- occlusion: what comes out from behind a wall -------------------------------------------------------------------


def occlusion(random: Random, palette: Palette) -> Drawing:
    """Behind the wall lies a ball in the way, a heavy box in the way, a ball beside the way, or nothing."""
    direction, row = side(random), random.uniform(0.0, 0.1)
    radius = random.uniform(0.095, 0.11)
    kind = str(random.choice(["ball", "ball", "box", "beside", "nothing"]))
    middle = random.uniform(-0.1, 0.1)
    start, speed = middle - direction * random.uniform(0.85, 1.0), direction * random.uniform(1.8, 2.3)
    bodies = [
        scenery("grey wall", "wall", [0.4, 0.02, 0.24], [middle, row - 0.2, 0.24]),
        palette.ball(radius, start, row, (speed, 0.0)),
    ]
    x, y = middle + direction * random.uniform(-0.05, 0.1), row
    if kind == "beside":
        y += 2 * radius + random.uniform(0.08, 0.1)
    if kind == "box":
        bodies.append(palette.body("box", [0.09, 0.11, radius], [x, y, radius], mass=6.0, friction=0.8, bounce=0.6))
    elif kind != "nothing":
        bodies.append(palette.ball(radius, x, y))
    links = int(random.integers(0 if kind in ("ball", "box") else 1, 3))
    places = [middle + direction * (0.72 + 0.32 * link) for link in range(links)]
    bodies += row_of(random, palette, places, row, radius) if links else []
    depth = {"ball": 1 + links, "box": 1}.get(kind, links)
    return with_bystanders(random, palette, depth, bodies, (-0.7, 0.8), moving_share=0.15)


def vary_occlusion(scene: Scene, random: Random) -> Sequence[Body]:
    """Return variants: the hidden body heavy or light, beside the path or in it, or the ball too slow to get there."""
    wall, ball = scene.bodies[:2]
    slow = slowed(ball, 0.25)
    others = scene.bodies[2 : len(scene.bodies) - scene.distractors]
    hidden = [body for body in others if abs(body.place[0] - wall.place[0]) < wall.size[0]]
    if not hidden:
        return [slow, changed(others[0], mass=others[0].mass * 20)]
    x, y, z = hidden[0].place
    beside = y + 0.31 if abs(y - ball.place[1]) < 0.1 else ball.place[1]
    mass = 0.4 if hidden[0].mass > 1.0 else 8.0
    return [changed(hidden[0], mass=mass), changed(hidden[0], place=[x, beside, z]), slow]


# ---- pendulum: a ball on a hinge ------------------------------------------------------------------------------------


def pendulum(random: Random, palette: Palette) -> Drawing:
    """The pendulum starts raised, or hangs still between a rolling ball and a row of balls; one to four links."""
    direction, row = side(random), random.uniform(-0.15, 0.15)
    radius = random.uniform(0.1, 0.12)
    hanging = random.random() < 0.35
    x = (0.0 if hanging else -0.35) * direction + random.uniform(-0.05, 0.05)
    length = random.uniform(0.8, 0.9)
    high = length + radius * 1.05
    bodies = [scenery("brown beam", "wall", [0.03, 0.25, 0.03], [x, row, high + 0.04])]
    raised = 0.0 if hanging else float(np.radians(random.uniform(32.0, 44.0)))
    place = [x - direction * length * np.sin(raised), row, high - length * np.cos(raised)]
    hinge = {"point": [round(x, 4), round(row, 4), round(high, 4)], "axis": "y"}
    bob = palette.body(
        "ball", [radius], place, mass=0.7, bounce=0.85, friction=SMOOTH, moves="about its hinge", hinge=hinge
    )
    links = int(random.integers(1, 4))
    gap = 0.42 if hanging else 0.44
    first = x + direction * (gap if hanging else 2 * radius + random.uniform(0.0, 0.03))
    places = [first + direction * gap * link for link in range(links)]
    struck = row_of(random, palette, places, row, radius)
    if random.random() < 0.3:
        struck += row_of(random, palette, places[:1], row + float(random.choice([-0.35, 0.35])), radius, tips=0.0)
    if hanging:
        start = x - direction * random.uniform(0.85, 1.0)
        bodies.append(palette.ball(radius, start, row, (direction * random.uniform(1.8, 2.3), 0.0), mass=0.7))
    return with_bystanders(random, palette, links + hanging, [*bodies, bob, *struck], (-0.72, 0.75))


def vary_pendulum(scene: Scene, random: Random) -> Sequence[Body]:
    """The rolling ball is slow, what is hit first is heavy, or lies aside."""
    bodies = [body for body in scene.bodies if not body.scenery]
    hit = bodies[next(index for index, body in enumerate(bodies) if body.hinge is not None) + 1]
    slow = [slowed(body, 0.25) for body in bodies if any(body.velocity)]
    return [*slow, changed(hit, mass=hit.mass * 20), aside(hit, -0.35)]


# ---- ramp: bodies roll or slide down, or stick ----------------------------------------------------------------------

LENGTH, THIN = 0.5, 0.02
"""Half the length and half the thickness of the ramp."""
STICKS = 0.9
"""The friction of a box that stays where it is."""
FOOT = -0.25
"""Where the ramp's upper face meets the floor, in scenes that go from left to right."""


def ramp(random: Random, palette: Palette) -> Drawing:
    """One or two lanes down a ramp, each with one to three bodies at its foot."""
    direction, angle = side(random), random.uniform(22.0, 28.0)
    slope = np.radians(angle)
    x, z = FOOT - LENGTH * np.cos(slope) - THIN * np.sin(slope), LENGTH * np.sin(slope) - THIN * np.cos(slope)
    half, tilt = LENGTH * np.sin(slope) - 0.05, [0.0, direction * angle, 0.0]
    post = [direction * (FOOT - 1.9 * LENGTH * np.cos(slope)), 0.0, half]
    bodies = [
        scenery("brown ramp", "ramp", [LENGTH, 0.36, THIN], [direction * x, 0.0, z], turn=tilt, friction=0.0),
        scenery("grey post", "box", [0.05, 0.3, half], post),
    ]
    rows = [random.uniform(-0.1, 0.1)] if random.random() < 0.4 else [-0.2, 0.2]
    depths = []
    for number, row in enumerate(rows):
        kind = ("ball", "sliding box", "sticking box")[int(random.integers(2 + number))]
        links = int(random.integers(1, 4)) if kind == "ball" else int(random.integers(1, 3))
        up = random.uniform(0.6, 0.8) * 2 * LENGTH
        bodies.append(_on_ramp(random, palette, kind, row, direction, slope, up))
        places = [direction * (FOOT + 0.3 + 0.38 * link + random.uniform(0.0, 0.04)) for link in range(links)]
        bodies += row_of(random, palette, places, row, 0.1, tips=0.3)
        depths.append(links if kind != "sticking box" else 0)
    return with_bystanders(random, palette, max(depths), bodies, (-0.7,))


def _on_ramp(
    random: Random, palette: Palette, kind: str, row: float, direction: float, slope: float, up: float
) -> Body:
    """The body that lies `up` metres along the ramp from its foot."""
    size = random.uniform(0.085, 0.1)
    x = FOOT - up * np.cos(slope) + size * np.sin(slope)
    place = [direction * x, row, up * np.sin(slope) + size * np.cos(slope)]
    if kind == "ball":
        return palette.body("ball", [size], place, mass=0.7, bounce=0.8, friction=0.5)
    friction = STICKS if kind == "sticking box" else random.uniform(0.06, 0.12)
    turn = [0.0, direction * float(np.degrees(slope)), 0.0]
    return palette.body("box", [size] * 3, place, turn=turn, mass=0.8, bounce=0.3, friction=friction)


def vary_ramp(scene: Scene, random: Random) -> Sequence[Body]:
    """A box has more or less friction, a runner stands lower on the ramp, or what it hits is too heavy to be moved."""
    actors = [body for body in scene.bodies if not body.scenery]
    runners = [body for body in actors if body.place[2] > 0.2]
    boxes = [body for body in runners if body.shape == "box"]
    hit = actors[actors.index(runners[0]) + 1]
    other = [changed(box, friction=STICKS if box.friction != STICKS else 0.1) for box in boxes]
    return [*other, changed(hit, mass=hit.mass * 20), aside(hit, -0.4)]


# ---- seesaw: what drops on one end lifts what lies on the other -----------------------------------------------------

LONG, THICK, HIGH = 0.6, 0.02, 0.17
"""Half the plank's length and thickness, and how high its hinge is."""
POST = 0.62
"""Metres from the hinge to the post that keeps a ball on the plank."""


def seesaw(random: Random, palette: Palette) -> Drawing:
    """One link: what drops is too light. Two: it lifts one or two loads. Three: a ball rolls off to a post."""
    direction, row = side(random), random.uniform(-0.1, 0.1)
    depth = int(random.choice([1, 2, 2, 3]))
    tilt = float(np.arcsin((HIGH - THICK) / LONG)) * 0.98
    turn = [0.0, -direction * float(np.degrees(tilt)), 0.0]
    x = random.uniform(-0.15, 0.15)
    along, over = (
        np.array([np.cos(tilt), direction * np.sin(tilt)]),
        np.array([-direction * np.sin(tilt), np.cos(tilt)]),
    )

    def on_plank(out: float, size: float) -> list[float]:
        """Return the centre of a body that lies `out` metres from the plank's middle."""
        middle = np.array([x, HIGH]) + out * along + (THICK + size) * over
        return [float(middle[0]), row, float(middle[1])]

    def box_at(size: float, place: Sequence[float], mass: float) -> Body:
        shape, sizes = box_or_cylinder(random, size)
        return palette.body(shape, sizes, place, turn=turn, mass=mass, friction=0.9, bounce=0.15)

    # The end on the side of `direction` is raised.
    plank = palette.body(
        "plank", [LONG, 0.13, THICK], [x, row, HIGH], turn=turn, mass=0.6, friction=0.9, bounce=0.15,
        moves="about its hinge", hinge={"point": [round(x, 4), round(row, 4), HIGH], "axis": "y"},
    )  # fmt: skip
    bodies = [scenery("brown foot", "wall", [0.03, 0.14, 0.06], [x, row, 0.06]), plank]
    for number in range(1 if depth == 3 else int(random.integers(1, 3))):
        size = random.uniform(0.075, 0.09)
        if depth == 3:
            # The post is beyond the plank's end, and the ball lies against it.
            out = (POST - size - (THICK + size) * np.sin(tilt)) / np.cos(tilt)
            bodies.append(
                palette.body("ball", [size], on_plank(-direction * out, size), mass=0.35, friction=0.5, bounce=0.2)
            )
            post = [x - direction * (POST + 0.03), row, 0.1]
            bodies.append(scenery("grey post", "wall", [0.03, 0.05, 0.1], post, friction=0.0))
        else:
            bodies.append(box_at(size, on_plank(-direction * (0.48 - 0.3 * number), size), 0.35))
    size = random.uniform(0.085, 0.1)
    above = on_plank(direction * 0.48, size)
    above[2] += random.uniform(0.12, 0.25)
    mass = 0.1 if depth == 1 else random.uniform(1.5, 1.9)
    bodies.append(box_at(size, above, mass))
    return with_bystanders(random, palette, depth, bodies, (-0.65, 0.7))


def vary_seesaw(scene: Scene, random: Random) -> Sequence[Body]:
    """Return variants: the dropped body light or heavy, or the first load heavy."""
    actors = [body for body in scene.bodies if not body.scenery]
    dropped = max(actors[: len(actors) - scene.distractors], key=lambda body: body.place[2])
    mass = 0.1 if dropped.mass > 1.0 else 2.2
    return [changed(dropped, mass=mass), changed(actors[1], mass=actors[1].mass * 20)]


# ---- stack: a ball rolls into a tower (to train on) -----------------------------------------------------------------


def stack(random: Random, palette: Palette) -> Drawing:
    """Two or three boxes on each other, and another ball that rolls into a third; the first ball is fast or slow."""
    boxes = int(random.integers(2, 4))
    rows = [random.uniform(-0.45, -0.35), random.uniform(0.4, 0.5)]
    if random.random() < 0.5:
        rows.reverse()
    direction, half = side(random), random.uniform(0.09, 0.11)
    velocity = [random.uniform(2.6, 3.4) * direction, 0.0, 0.0]
    bodies = [palette.body("ball", [0.12], [-1.15 * direction, rows[0], 0.12], velocity=velocity, mass=1.0)]
    for place in range(boxes):
        upright = [0.15 * direction, rows[0], half * (2 * place + 1)]
        bodies.append(palette.body("box", [half] * 3, upright, mass=0.25, friction=0.3, bounce=0.1))
    other = side(random)
    start = palette.ball(0.11, -1.1 * other, rows[1], (other * random.uniform(1.6, 2.6), 0.0))
    beside = [start, *row_of(random, palette, [random.uniform(-0.2, 0.3) * other], rows[1], 0.11)]
    return Drawing(boxes, [*bodies, *beside], distractors=len(beside))


def vary_stack(scene: Scene, random: Random) -> Sequence[Body]:
    """The ball is too slow."""
    return (slowed(scene.bodies[0], 0.15),)


# ---- support: a column is knocked away ------------------------------------------------------------------------------


def support(random: Random, palette: Palette) -> Drawing:
    """Something lies on a column, or on a plank between two. One link: the ball misses and hits another ball."""
    depth = int(random.choice([1, 2, 2, 3, 3]))
    direction, x = side(random), random.uniform(-0.15, 0.15)
    half = random.uniform(0.12, 0.14)

    def column(place: float) -> Body:
        """A column that slides away when a ball hits it."""
        wide = random.uniform(0.09, 0.11)
        shape, size = ("box", [wide, wide, half]) if random.random() < 0.5 else ("cylinder", [wide, half])
        return palette.body(shape, size, [place, 0.0, half], mass=1.0, bounce=0.85, friction=0.18)

    def load(place: float, top: float) -> Body:
        size = random.uniform(0.07, 0.085)
        shape, sizes = box_or_cylinder(random, size)
        return palette.body(shape, sizes, [place, 0.0, top + size], mass=0.2, friction=0.15, bounce=0.15)

    if depth == 3:
        span = direction * random.uniform(0.55, 0.65)
        hit, other = column(x), changed(column(x + span), mass=2.0, friction=0.8)
        top = 2 * hit.place[2]
        size, middle = [abs(span) / 2 + 0.1, 0.07, 0.02], [x + span / 2, 0.0, top + 0.02]
        plank = palette.body("plank", size, middle, mass=0.3, friction=0.25, bounce=0.15)
        bodies = [hit, plank, load(x + span * 0.15, top + 0.04), other]
        speed = random.uniform(2.2, 2.8)
        start, velocity = (x, -random.uniform(0.75, 0.9)), (0.0, speed)
    else:
        hit = column(x)
        bodies = [hit, load(x, 2 * hit.place[2])]
        speed = random.uniform(2.4, 3.0)
        row = float(random.choice([-0.45, 0.45])) if depth == 1 else 0.0
        start, velocity = (x - direction * random.uniform(0.8, 0.95), row), (direction * speed, 0.0)
        if depth == 1:
            bodies += row_of(random, palette, [x + direction * random.uniform(0.5, 0.7)], row, half, tips=0.0)
    pusher = palette.ball(round(half * 0.95, 4), *start, velocity, friction=0.1)
    away_from = [x] if depth == 3 else []
    return with_bystanders(random, palette, depth, [pusher, *bodies], (-0.7, 0.75), away_from)


def vary_support(scene: Scene, random: Random) -> Sequence[Body]:
    """The ball is too slow to get there, the column too heavy to give way, or the ball comes along another line."""
    ball, column = scene.bodies[:2]
    along = 1 if ball.velocity[0] else 0
    place = list(ball.place)
    place[along] += 0.4 if scene.depth == 3 else (-place[1] or 0.45)
    return (slowed(ball, 0.2), changed(column, mass=column.mass * 15), changed(ball, place=place))


@cache
def families() -> Mapping[str, SceneFamily]:
    """All families by name, in the order of the alphabet."""
    every = (
        family_of(backup, vary_backup),
        family_of(chain, vary_chain),
        family_of(containment, vary_containment),
        family_of(crossing, vary_crossing, for_training=True),
        family_of(dominoes, vary_dominoes),
        family_of(elastic, vary_elastic),
        family_of(occlusion, vary_occlusion),
        family_of(pendulum, vary_pendulum),
        family_of(ramp, vary_ramp),
        family_of(seesaw, vary_seesaw),
        family_of(stack, vary_stack, for_training=True),
        family_of(support, vary_support),
        family_of(two_causes, vary_two_causes),
        family_of(two_chains, vary_two_chains),
    )
    return {family.name: family for family in sorted(every, key=lambda one: one.name)}
