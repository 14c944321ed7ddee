"""Answers about a ball that rolls off a ledge into one of six bins, from what a clip shows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_tasks.sample.physics import SIDE_VIEW, Body, Vec, Wall, World, simulate
from lmms_eval_tasks.sample.scenes import bar
from lmms_eval_tasks.sample.seeing import floor_of, follow, place_at, require, the_option, track_of, uprights
from lmms_eval_tasks.sample.vision import Track, View
from lmms_eval_tasks.sample.wording import BINS, read_bin, read_objects, read_speed

_DURATION = 3.6


@dataclass(frozen=True)
class _Launch:
    """The launch as seen: where the ball starts and how fast, the ledge under it, the walls of the bins."""

    ball: Body
    velocity: Vec
    ledge: Wall
    walls: tuple[Wall, ...]
    edges: tuple[float, ...]
    width: int
    rim: float

    def bin_of(self, place: Vec) -> int | None:
        if place[1] < self.rim:
            return None
        return next((i for i in range(BINS) if self.edges[i] < place[0] < self.edges[i + 1]), None)

    def landing(self, factor: float = 1.0, mirror: bool = False) -> int | None:
        """The bin reached at `factor` times the speed, or from the other side."""
        (x, y), ledge, vx = self.ball.position, self.ledge, self.velocity[0] * factor
        if mirror:
            x, vx = self.width - x, -vx
            (x1, y1), (x2, y2) = ledge.start, ledge.end
            ledge = Wall(ledge.name, (self.width - x1, y1), (self.width - x2, y2), ledge.half_width)
        ball = Body("ball", "ball", self.ball.size, (x, y), (vx, 0.0))
        end = simulate(World(SIDE_VIEW, (ball,), (ledge, *self.walls)), _DURATION).path("ball")[-1]
        return self.bin_of((float(end[0]), float(end[1])))


def _see_bins(view: View) -> tuple[int, int, tuple[Wall, ...], tuple[float, ...]]:
    """Rows of the ground and of the bins' rims, the walls, and where the walls between bins stand."""
    ground = floor_of(view.structures)
    posts = uprights(view.structures, ground - 18, ground - 3)
    require(len(posts) == BINS + 1)
    edges = tuple((left + right) / 2 for left, right in posts)
    column = view.structures[:ground, int(edges[3])]
    rim = ground - int(np.argmin(column[::-1]))
    height, width = view.structures.shape
    walls = (*(bar(f"divider {i}", (x, rim + 1.5), (x, height), 1.5) for i, x in enumerate(edges)),
             bar("ground", (-9.0, ground + 3.0), (width + 9.0, ground + 3.0), 3.0))  # fmt: skip
    return ground, rim, walls, edges


def _see_launch(view: View, track: Track) -> _Launch:
    """Read the launch off the first frames; Unseen when the clip does not begin with one."""
    _, rim, walls, edges = _see_bins(view)
    x, y = place_at(track, 0)
    width = view.structures.shape[1]
    require(y < rim - 25)
    below = view.structures[int(y) :, int(x)]
    top = int(y) + int(np.argmax(below))
    require(bool(below.any()) and top - y < track.size + 4)
    middle, level = view.structures[top + 2], y + track.size + 2.5
    leftwards = x > width / 2
    run = middle[::-1] if leftwards else middle
    length = int(np.argmin(run)) - 2.5
    ledge = bar("ledge", (-9.0, level), (length, level), 2.5)
    if leftwards:
        ledge = bar("ledge", (width + 9.0, level), (width - length, level), 2.5)
    flat = Track(track.colour, track.shape, track.size, track.centres * (1, 0), track.boxes, track.areas)
    velocity = follow(flat, view.fps, range(view.frames), slack=0.8).velocity
    require((velocity[0] < -8) if leftwards else (velocity[0] > 8))
    ball = Body(track.name, "ball", track.size, (x, y))
    return _Launch(ball, velocity, ledge, walls, edges, width, float(rim))


def _ball(view: View, question: str) -> Track:
    names = read_objects(question)
    require(bool(names))
    return track_of(view, names[0])


def anticipation(view: View, question: str, options: Sequence[str]) -> int:
    """The bin in which the flight will end."""
    track = _ball(view, question)
    launch = _see_launch(view, track)
    require(place_at(track, -1)[1] > place_at(track, 0)[1] + 4)
    return the_option(options, read_bin, launch.landing())


def counterfactual(view: View, question: str, options: Sequence[str]) -> int:
    """The bin that an undisturbed flight would have reached."""
    return the_option(options, read_bin, _see_launch(view, _ball(view, question)).landing())


def descriptive(view: View, question: str, options: Sequence[str]) -> int:
    """The bin in which the ball ends, when it began above them."""
    track = _ball(view, question)
    _, rim, _, edges = _see_bins(view)
    x, y = place_at(track, -1)
    require(place_at(track, 0)[1] < rim - 25 and y > rim)
    return the_option(options, read_bin, next((i for i in range(BINS) if edges[i] < x < edges[i + 1]), None))


def hypothetical(view: View, question: str, options: Sequence[str]) -> int:
    """The bin reached with the speed or from the side that the question names."""
    launch = _see_launch(view, _ball(view, question))
    if "other side" in question:
        return the_option(options, read_bin, launch.landing(mirror=True))
    factor = read_speed(question)
    require(factor is not None)
    return the_option(options, read_bin, launch.landing(factor or 1.0))


def planning(view: View, question: str, options: Sequence[str]) -> int:
    """The speed that takes the ball to the bin that the question names."""
    launch, goal = _see_launch(view, _ball(view, question)), read_bin(question)
    require(goal is not None)

    def reached(option: str) -> int | None:
        factor = read_speed(option)
        return None if factor is None else launch.landing(factor)

    return the_option(options, reached, goal)


RULES = (
    (re.compile(r"in the air\. Into which bin will"), anticipation),
    (re.compile(r"^If the slanted bar had not been there, into which bin"), counterfactual),
    (re.compile(r"^Into which bin does"), descriptive),
    (re.compile(r"^If the .* into which bin would"), hypothetical),
    (re.compile(r"is to fall into .* How fast"), planning),
)
