"""What is known of scenes, computed from their drafts again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmms_eval_tasks.api import InputError, Progress, no_progress
from lmms_eval_tasks.worlds.engine.drafts import SceneDraft, digest_events
from lmms_eval_tasks.worlds.engine.facts import Facts, World
from lmms_eval_tasks.worlds.engine.interventions import intervene
from lmms_eval_tasks.worlds.engine.processes import Workers
from lmms_eval_tasks.worlds.engine.rollout import roll_out
from lmms_eval_tasks.worlds.engine.settling import SettledTwin
from lmms_eval_tasks.worlds.engine.twins import make_twin, twin_scene


def all_facts(
    drafts: Iterable[SceneDraft], progress: Progress = no_progress, processes: int | None = None
) -> list[Facts]:
    """Run scenes, their other worlds and their twins, several at once."""
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
    """Return the facts of a draft, and whether they differ from what the draft says."""
    scene = draft.scene
    rollout = roll_out(scene)
    runs = [intervene(scene, world.intervention) for world in draft.worlds]
    worlds = [
        World(intervention=world.intervention, events=run.events, unsure=world.unsure)
        for world, run in zip(draft.worlds, runs, strict=True)
    ]
    unsure = _joined(draft.unsure or [], rollout.unclear)
    settled_twin = twin = None
    if draft.twin:
        run = roll_out(twin_scene(scene, draft.twin.body))
        settled_twin = SettledTwin(draft.twin.body, run.events, draft.twin.unsure)
        not_asked = [*unsure, *_joined(draft.twin.unsure, run.unclear)]
        twin = make_twin(scene, settled_twin.body, rollout.events, run.events, not_asked)
    facts = Facts(
        scene=scene,
        events=rollout.events,
        unsure=unsure,
        worlds=[
            world.model_copy(update={"unsure": _joined(world.unsure, run.unclear)})
            for world, run in zip(worlds, runs, strict=True)
        ],
        again=[list(key) for key in rollout.again],
        twin=twin,
        violations=draft.violations,
        lost_energy=rollout.lost_energy,
    )
    return facts, digest_events(rollout.events, draft.unsure or [], draft.order, worlds, settled_twin) != draft.digest


def _joined(unsure: Iterable[Sequence[str]], unclear: Iterable[Sequence[str]]) -> list[list[str]]:
    """Join the events that differ between nearly equal scenes with those that are unclear in the scene itself."""
    return [list(key) for key in sorted({tuple(one) for one in (*unsure, *unclear)})]
