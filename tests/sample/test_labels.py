"""Labels, checked against the simulation by other means than those that made them."""

import random

import numpy as np
import pytest

from lmms_eval_tasks.sample.scenes import minimal_pairs
from lmms_eval_tasks.sample.scenes.options import (
    DIRECTIONS,
    Draft,
    draw_options,
    read_direction,
    read_object,
    read_objects,
    word_object,
)
from lmms_eval_tasks.sample.scenes.table_questions import LEVELS, TABLE_QUESTIONS
from lmms_eval_tasks.sample.world.physics import simulate
from lmms_eval_tasks.sample.world.render import boxes, render


def draft(kind: str, level: str, seed: int = 1) -> Draft:
    return TABLE_QUESTIONS[kind](random.Random(f"labels {kind} {level} True {seed}"), level)


def touched(scene, world=None) -> str | None:
    """What the mover comes nearest to, when it comes within half a pixel before anything else."""
    world = world or scene.world
    trajectory = simulate(world, 4.0)
    contact = trajectory.first_contact("mover", set(scene.skins))
    return scene.called(contact.partner("mover")) if contact else None


@pytest.mark.parametrize("level", LEVELS)
def test_anticipation_stops_before_the_touch(level):
    drafted = draft("anticipation", level)
    assert drafted.answer == touched(drafted.scene)
    assert not [c for c in drafted.scene.simulate().contacts if "rim" not in c.second]


@pytest.mark.parametrize("level", LEVELS)
def test_counterfactual_leaves_one_object_out(level):
    drafted = draft("counterfactual", level)
    removed, mover = read_objects(drafted.question)
    assert (drafted.scene.called("blocker"), drafted.scene.called("mover")) == (removed, mover)
    assert touched(drafted.scene) == removed
    assert touched(drafted.scene, drafted.scene.world.without("blocker")) == drafted.answer


@pytest.mark.parametrize("level", LEVELS)
def test_descriptive_names_the_nearest_object_when_the_target_starts(level):
    drafted = draft("descriptive", level)
    trajectory = drafted.scene.simulate()
    path = trajectory.path("target")
    start = int(np.argmax(np.abs(path - path[0]).sum(axis=1) > 0.2))
    apart = {
        drafted.scene.called(name): np.hypot(*(trajectory.path(name)[start - 1 : start + 1] - path[0]).T).min()
        for name in drafted.scene.skins
        if name != "target"
    }
    assert min(apart, key=apart.get) == drafted.answer


def test_hypothetical_turns_the_start():
    drafted = draft("hypothetical", "easy")
    mover = drafted.scene.world.body("mover")
    back = drafted.scene.world.changing("mover", velocity=(-mover.velocity[0], -mover.velocity[1]))
    assert touched(drafted.scene, back) == drafted.answer != touched(drafted.scene)
    drafted = draft("hypothetical", "med")
    mover = drafted.scene.world.body("mover")
    clockwise = drafted.scene.world.changing("mover", velocity=(-mover.velocity[1], mover.velocity[0]))
    assert touched(drafted.scene, clockwise) == drafted.answer != touched(drafted.scene)


@pytest.mark.parametrize("level", LEVELS)
def test_planning_points_from_the_balls_resting_place_to_the_target(level):
    drafted = draft("planning", level)
    trajectory = drafted.scene.simulate()
    way = trajectory.path("target")[-1] - trajectory.path("mover")[-1]
    heading = np.array(drafted.answer) / np.hypot(*drafted.answer)
    assert way @ heading / np.hypot(*way) > 0.97
    assert trajectory.first_contact("mover").partner("mover") == "hand"


@pytest.mark.parametrize("kind", TABLE_QUESTIONS)
def test_options_hold_the_answer_once_at_its_place_in_both_versions(kind):
    drafted = draft(kind, "easy")
    readers = (read_direction, read_object)
    for version in (0, 1):
        for position in range(5):
            options = draw_options(random.Random(3), drafted, version, position)
            assert len(set(options)) == 5
            meant = [[reader(option) for reader in readers] for option in options]
            assert [drafted.answer in readings for readings in meant] == [number == position for number in range(5)]


def test_options_are_read_as_they_are_worded():
    for version in (0, 1):
        assert [read_direction(DIRECTIONS[way][version]) for way in DIRECTIONS] == list(DIRECTIONS)
        assert read_object(word_object("pink block", version)) == "pink block"
    assert read_objects("The red ball, the square blue one") == ["red ball", "blue block"]
    assert read_object("The red ball, the square blue one") is read_object("Neither") is None


def ends(pair) -> list:
    return [scene.simulate() for scene in pair.scenes]


def test_handling_pairs_differ_in_what_they_say():
    put, take = ends(minimal_pairs.in_or_out(random.Random(1)))
    assert put.path("thing")[0] == pytest.approx(take.path("thing")[-1], abs=1)
    assert put.path("thing")[-1] == pytest.approx(take.path("thing")[0], abs=1)
    right, left = ends(minimal_pairs.push_left_or_right(random.Random(1)))
    assert right.path("thing")[-1][0] > right.path("thing")[0][0] + 10
    assert left.path("thing")[-1][0] < left.path("thing")[0][0] - 10
    falls, stays = ends(minimal_pairs.fall_or_stay(random.Random(1)))
    assert falls.path("thing")[-1][1] > falls.path("thing")[0][1] + 30
    assert stays.path("thing")[-1][1] == pytest.approx(stays.path("thing")[0][1], abs=1)
    for number, run in enumerate(ends(minimal_pairs.which_goal(random.Random(1)))):
        end = run.path("thing")[-1]
        apart = [np.hypot(*(run.path(name)[-1] - end)) for name in ("goal", "other goal")]
        assert apart.index(min(apart)) == number
    closer, farther = (
        [np.hypot(*(run.path("goal")[frame] - run.path("thing")[frame])) for frame in (0, -1)]
        for run in ends(minimal_pairs.closer_or_farther(random.Random(1)))
    )
    assert closer[1] < closer[0] - 10 and farther[1] > farther[0] + 10


def test_event_pairs_differ_in_what_they_say():
    vanishing = minimal_pairs.vanishes_or_not(random.Random(1))
    seen, gone = (boxes(render(scene)[1], 1)[:, 0, 0] for scene in vanishing.scenes)
    assert np.isnan(seen).any() and np.isnan(gone).any()
    assert not np.isnan(seen[-1]) and np.isnan(gone[-1])
    runs = ends(minimal_pairs.solid_or_not(random.Random(1)))
    bounced, through = (np.sign(np.diff(run.path("ball")[:, 0])) for run in runs)
    assert len(set(bounced[[0, -1]])) == 2 and len(set(through)) == 1
    falls, hovers = ends(minimal_pairs.falls_or_hovers(random.Random(1)))
    assert np.ptp(falls.path("ball")[:, 1]) > 30 and np.ptp(hovers.path("ball")[:, 1]) < 1
    for family, order in (
        (minimal_pairs.who_hits_whom, ("one", "other")),
        (minimal_pairs.which_falls_first, ("one", "other")),
        (minimal_pairs.which_is_pushed_first, ("one", "other")),
    ):
        for run, (first, second) in zip(ends(family(random.Random(1))), (order, order[::-1]), strict=True):
            starts = [int(np.argmax(run.speed(name) > 1)) for name in (first, second)]
            assert starts[0] < starts[1]
