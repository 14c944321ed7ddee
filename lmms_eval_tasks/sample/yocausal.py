"""The sample in YoCausal's release format: clips with a cause in them and clips without, each with its reversal."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.pairs import draw_colours, side_world
from lmms_eval_tasks.sample.physics import FPS, Body, Laws, Waypoint, World
from lmms_eval_tasks.sample.render import render
from lmms_eval_tasks.sample.scenes import HEIGHT, WIDTH, Scene, bar, draw_look, mirrored, search
from lmms_eval_tasks.sample.table import rims
from lmms_eval_tasks.sample.video import write_clip

DURATION = 3.0
SMOOTH = Laws(gravity=0.0, table_friction=45.0, rolling_friction=0.0, bounce=0.9, wall_bounce=0.6)
TURNS = 360
PIECES = 5


@dataclass(frozen=True)
class Film:
    """A scene with its caption, and whether something in it causes something."""

    scene: Scene
    caption: str
    causal: bool


def a_hit(rng: random.Random) -> Film:
    """On a table that brakes, a ball runs into one at rest and sets it moving."""
    return search(rng, _hit)


def _hit(rng: random.Random) -> Film | None:
    y = rng.uniform(45, HEIGHT - 45)
    runner = Body("runner", "ball", rng.uniform(8, 11), (rng.uniform(18, 30), y), (rng.uniform(125, 165), 0.0))
    target = Body("target", "ball", rng.uniform(8, 11), (rng.uniform(85, 110), y + rng.uniform(-5, 5)))
    world = World(SMOOTH, (runner, target), rims())
    scene = _scene(rng, world)
    contact = scene.simulate().first_contact("runner", ("target",))
    if contact is None or not 0.3 < contact.time < 1.5:
        return None
    return Film(
        scene, f"The {scene.called('runner')} rolls into the {scene.called('target')} and pushes it away.", True
    )


def a_fall(rng: random.Random) -> Film:
    """A ball rolls off a ledge, falls, and bounces until it lies still."""
    return search(rng, _fall)


def _fall(rng: random.Random) -> Film | None:
    top, edge, size = rng.uniform(40, 60), rng.uniform(60, 90), rng.uniform(8, 11)
    ball = Body("ball", "ball", size, (rng.uniform(15, 35), top - 2.0 - size), (rng.uniform(55, 80), 0.0))
    scene = _scene(rng, side_world((ball,), (bar("ledge", (-4.0, top), (edge, top)),), rough=True))
    contact = scene.simulate().first_contact("ball", ("floor",))
    if contact is None or not 0.8 < contact.time < 1.9:
        return None
    return Film(scene, f"The {scene.called('ball')} rolls off a ledge, falls and bounces on the floor.", True)


def a_break(rng: random.Random) -> Film:
    """A fast ball runs into a heap of blocks, which flies apart."""
    size, x, y = 5.0, rng.uniform(95, 115), rng.uniform(55, HEIGHT - 55)
    places = ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0))[:PIECES]
    heap = tuple(
        Body(f"piece {number}", "block", size, (x + 10.6 * across, y + 10.6 * down - 5.3))
        for number, (across, down) in enumerate(places)
    )
    ball = Body("ball", "ball", rng.uniform(9, 11), (22.0, y + rng.uniform(-4, 4)), (rng.uniform(160, 200), 0.0))
    scene = _scene(rng, World(SMOOTH, (ball, *heap), rims()), alike=tuple(body.name for body in heap))
    return Film(scene, f"The {scene.called('ball')} hits a heap of blocks, and the heap breaks apart.", True)


def a_pendulum(rng: random.Random) -> Film:
    """A ball swings from side to side, as it would in reverse."""
    length, swing, turns = rng.uniform(70, 90), rng.uniform(35, 55), rng.choice((1.5, 2.0, 2.5))
    pivot = (WIDTH / 2 + rng.uniform(-15, 15), 15.0)
    start = rng.randrange(TURNS)
    path = []
    for number, (cosine, _) in enumerate(_circle(round(DURATION * FPS * 4), turns, start)):
        across = swing * cosine
        path.append(Waypoint(number / (FPS * 4), pivot[0] + across, pivot[1] + (length**2 - across**2) ** 0.5))
    ball = Body("ball", "ball", rng.uniform(8, 11), (path[0].x, path[0].y), path=tuple(path), kinematic=True)
    scene = _scene(rng, World(SMOOTH, (ball,), ()))
    return Film(scene, f"The {scene.called('ball')} swings to and fro like a pendulum.", False)


def a_rotation(rng: random.Random) -> Film:
    """Two bodies go round a centre at an even pace."""
    radius, turns, start = rng.uniform(35, 50), rng.choice((1.0, 1.5, 2.0)), rng.randrange(TURNS)
    centre = (WIDTH / 2 + rng.uniform(-20, 20), HEIGHT / 2)
    circle = _circle(round(DURATION * FPS * 4), turns, start)
    bodies = []
    for name, sign in (("first", 1.0), ("second", -1.0)):
        path = tuple(
            Waypoint(number / (FPS * 4), centre[0] + sign * radius * cosine, centre[1] + sign * radius * sine)
            for number, (cosine, sine) in enumerate(circle)
        )
        at = (path[0].x, path[0].y)
        bodies.append(Body(name, rng.choice(("ball", "block")), rng.uniform(8, 11), at, path=path, kinematic=True))
    scene = _scene(rng, World(SMOOTH, tuple(bodies), ()))
    return Film(scene, f"A {scene.called('first')} and a {scene.called('second')} circle each other.", False)


def _circle(steps: int, turns: float, start: int) -> list[tuple[float, float]]:
    """Cosine and sine along a circle without trigonometry, whose last digits differ between machines."""
    # Half-angle form of a rotation by about 2*pi*turns/steps; 3.1416 is near enough, and the pair stays on the circle.
    half = 3.1416 * turns / steps
    cosine, sine = (1 - half * half) / (1 + half * half), 2 * half / (1 + half * half)
    first = 3.1416 / TURNS
    turn = ((1 - first * first) / (1 + first * first), 2 * first / (1 + first * first))
    at = (1.0, 0.0)
    for _ in range(start):
        at = (at[0] * turn[0] - at[1] * turn[1], at[0] * turn[1] + at[1] * turn[0])
    found = []
    for _ in range(steps + 1):
        found.append(at)
        at = (at[0] * cosine - at[1] * sine, at[0] * sine + at[1] * cosine)
    return found


def _scene(rng: random.Random, world: World, alike: tuple[str, ...] = ()) -> Scene:
    names = tuple(body.name for body in world.bodies if body.name not in alike)
    skins = draw_colours(rng, (*names, "heap") if alike else names)
    if alike:
        heap = skins.pop("heap")
        skins |= dict.fromkeys(alike, heap)
    return Scene(mirrored(world) if rng.random() < 0.5 else world, draw_look(rng), skins, DURATION)


Family = Callable[[random.Random], Film]
CAUSAL: tuple[Family, ...] = (a_hit, a_fall, a_break)
NOT_CAUSAL: tuple[Family, ...] = (a_pendulum, a_rotation)

# Subset to the source in whose place it stands and the families that take turns in it.
SUBSETS: Mapping[str, tuple[str, tuple[Family, ...]]] = {
    "animal": ("Animal Kingdom", (a_fall, a_rotation)),
    "general": ("Moments in Time", (a_hit, a_pendulum, a_fall, a_rotation)),
    "human": ("Kinetics-400", (a_break, a_pendulum)),
    "physics": ("Physics-IQ", (a_hit, a_rotation, a_break, a_pendulum)),
}


@dataclass(frozen=True)
class Subset:
    """Entries of one metadata file, and the films of their forward clips by file name."""

    name: str
    entries: Sequence[Mapping[str, object]]
    films: Mapping[str, Film]


def draw_subset(seed: int, name: str, pairs: int) -> Subset:
    """Draw one subset; its ids begin at 1."""
    source, families = SUBSETS[name]
    entries: list[Mapping[str, object]] = []
    films: dict[str, Film] = {}
    for number in range(1, pairs + 1):
        family = families[(number - 1) % len(families)]
        film = family(random.Random(f"{seed}/yocausal/{name}/{number}"))
        file = f"{name}_{number:04d}.mp4"
        films[file] = film
        entries.append(
            {
                "id": number,
                "video_path_forward": f"{name}/fwd/{file}",
                "video_path_backward": f"{name}/bwd/{file}",
                "prompt": film.caption,
                "dataset_source": source,
                "category": family.__name__.removeprefix("a_"),
                "meta": {"fps": FPS, "resolution": [WIDTH, HEIGHT], "total_frames": round(DURATION * FPS)},
                "vlm_causality": film.causal,
                "human_discriminable": film.causal,
            }
        )
    return Subset(name, entries, films)


def write_metadata(subset: Subset, root: Path) -> None:
    """Write a subset's metadata file below the release's root."""
    folder = root / "subset" / subset.name
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(list(subset.entries), indent=1) + "\n"
    (folder / "dataset_metadata.json").write_text(text, encoding="utf-8")


def film_pair(film: Film, folder: Path, file: str) -> None:
    """Film a scene and write the clip and its reversal below a subset's folder."""
    frames = shoot(film)
    for side, shown in (("fwd", frames), ("bwd", frames[::-1])):
        path = folder / side / file
        path.parent.mkdir(parents=True, exist_ok=True)
        write_clip(path, shown)


def shoot(film: Film) -> NDArray[np.uint8]:
    """The frames of a film as it happens, (T, H, W, 3) uint8."""
    return render(film.scene, film.scene.simulate()).frames
