"""Drafts are drawn here, and what is known of them is computed from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from lmms_eval_tasks.api import InputError, Progress, RowForm, no_progress
from lmms_eval_tasks.worlds.engine.drafts import SceneDraft, digest_events, draft_of
from lmms_eval_tasks.worlds.engine.facts import Facts, Violation, World
from lmms_eval_tasks.worlds.engine.families import families
from lmms_eval_tasks.worlds.engine.interventions import intervene
from lmms_eval_tasks.worlds.engine.processes import Workers
from lmms_eval_tasks.worlds.engine.rollout import roll_out
from lmms_eval_tasks.worlds.engine.scene import Scene
from lmms_eval_tasks.worlds.engine.scene_checks import problems_of
from lmms_eval_tasks.worlds.engine.settling import SettledTwin, begin, finish, why_not, why_not_begin
from lmms_eval_tasks.worlds.engine.twins import make_twin, twin_scene
from lmms_eval_tasks.worlds.engine.violations import choose_violations, suitable_violations

REFUSED = "it cannot be run"
MOST_DRAWN = 40
"""How many scenes are drawn for one that is kept, at most."""


class DrawCounts(RowForm):
    """How many scenes of a family were drawn and kept, and why others were thrown away."""

    family: str
    drawn: int
    kept: int
    thrown: dict[str, int]


class _Tried(NamedTuple):
    """What became of a drawn scene: a draft and the violations that suit it, or why it is thrown away."""

    draft: SceneDraft | None
    violations: list[Violation]
    why: str


def make_drafts(
    per_family: int,
    seed: int,
    progress: Progress = no_progress,
    names: Sequence[str] | None = None,
    processes: int | None = None,
) -> tuple[list[SceneDraft], list[DrawCounts]]:
    """Draw scenes until there are enough of each family. The same arguments give the same drafts.

    Args:
        per_family: How many are kept of each family.
        seed: Of all draws.
        progress: Called with how many are kept.
        names: The families; all, if None.
        processes: How many work at once, as many as there are cores if None; what is drawn does not depend on it.

    Raises:
        InputError: a family is unknown, or its scenes are thrown away so often that drawing has no end.
    """
    known = families()
    names = list(known) if names is None else list(names)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"There is no family {', '.join(unknown)}; there are {', '.join(known)}.")
    kept: list[_Tried] = []
    counts = []
    with Workers(processes) as workers:
        for name in names:
            tries = workers.map(_try, ((name, seed, number) for number in range(MOST_DRAWN * per_family + MOST_DRAWN)))
            found, thrown = 0, Counter[str]()
            while found < per_family:
                tried = next(tries, None)
                if tried is None:
                    raise InputError(
                        f"Of {MOST_DRAWN * (per_family + 1)} drawn scenes of the family {name} only {found} can be "
                        f"used, but {per_family} are wanted: {dict(thrown)}."
                    )
                if tried.draft is None:
                    thrown[tried.why] += 1
                    continue
                found += 1
                kept.append(tried)
                progress(f"{name}: scenes", found, per_family)
            counts.append(
                DrawCounts(family=name, drawn=found + thrown.total(), kept=found, thrown=dict(sorted(thrown.items())))
            )
    chosen = choose_violations([tried.violations for tried in kept])
    drafts = [
        tried.draft.model_copy(update={"violations": violations})
        for tried, violations in zip(kept, chosen, strict=True)
        if tried.draft is not None
    ]
    return drafts, counts


def draw_scene(family: str, seed: int, number: int) -> Scene:
    """The scene of a number that a family draws with a seed."""
    digest = sha256(f"{seed}/{family}/{number}".encode()).digest()
    own = int.from_bytes(digest[:4], "big") >> 1
    return families()[family].draw(f"{family}_{seed}_{number:04d}", own, np.random.default_rng(own))


def facts_of(draft: SceneDraft) -> Facts:
    """Run a scene, its other worlds and its twin. What is seen of it stays empty.

    Raises:
        InputError: something else happens than where the draft was made.
    """
    facts, differs = _facts(draft)
    if differs:
        raise InputError(_other_events([draft.scene.id]))
    return facts


def all_facts(
    drafts: Iterable[SceneDraft], progress: Progress = no_progress, processes: int | None = None
) -> list[Facts]:
    """`facts_of` for each draft, several at once.

    Raises:
        InputError: something else happens than where the drafts were made; all such scenes are named.
    """
    drafts = list(drafts)
    found, differing = [], []
    with Workers(processes) as workers:
        for draft, (facts, differs) in zip(drafts, workers.map(_facts, drafts), strict=True):
            found.append(facts)
            differing += [draft.scene.id] if differs else []
            progress("scenes", len(found), len(drafts))
    if differing:
        raise InputError(_other_events(differing))
    return found


def _other_events(scenes: Sequence[str]) -> str:
    named = ", ".join(scenes[:5]) + (f" and {len(scenes) - 5} more" if len(scenes) > 5 else "")
    return (
        f"On this machine something else happens in {named} than where the scenes were drawn, so that answers would "
        "not be the same.\nRemedy: install the version of MuJoCo that the extra `worlds` asks for; or draw scenes of "
        "your own with --seed, whose scores are not compared with others'."
    )


def _facts(draft: SceneDraft) -> tuple[Facts, bool]:
    """What is known of a draft, and whether it differs from what the draft says."""
    scene, unsure = draft.scene, draft.unsure or []
    rollout = roll_out(scene)
    worlds = [
        World(intervention=world.intervention, events=intervene(scene, world.intervention).events, unsure=world.unsure)
        for world in draft.worlds
    ]
    settled_twin = twin = None
    if draft.twin:
        settled_twin = SettledTwin(
            draft.twin.body, roll_out(twin_scene(scene, draft.twin.body)).events, draft.twin.unsure
        )
        twin = make_twin(scene, settled_twin.body, rollout.events, settled_twin.events, [*unsure, *settled_twin.unsure])
    facts = Facts(
        scene=scene,
        events=rollout.events,
        unsure=unsure,
        worlds=worlds,
        twin=twin,
        violations=draft.violations,
        lost_energy=rollout.lost_energy,
    )
    return facts, digest_events(rollout.events, unsure, draft.order, worlds, settled_twin) != draft.digest


def _try(asked: tuple[str, int, int]) -> _Tried:
    """Draw a scene and see whether it can be used."""
    try:
        scene = draw_scene(*asked)
    except ValueError:
        return _Tried(None, [], REFUSED)
    if problems_of(scene):
        return _Tried(None, [], REFUSED)
    settled = begin(scene)
    why = why_not_begin(settled)
    if why:
        return _Tried(None, [], why)
    settled = finish(scene, settled)
    why = why_not(settled)
    if why:
        return _Tried(None, [], why)
    suitable = suitable_violations(scene, settled.rollout)
    return _Tried(draft_of(scene, settled, []), suitable, "")
