"""The tasks of worlds on the sample's questions: an oracle is right on all, and scores are of what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from rehearsal import Rehearsal
from worlds_oracle import oracle

from lmms_eval_tasks.api import Outcome, Record, Reply, RunRecords, UnscoredReason
from lmms_eval_worlds import report
from lmms_eval_worlds.benchmark import BENCHMARK, make_rows
from lmms_eval_worlds.card import ASPECTS, CARD, DEPTHS, FAMILIES, SUBSETS
from lmms_eval_worlds.profile import STEPS
from lmms_eval_worlds.questions.question_set import TASKS
from lmms_eval_worlds.release import CLIPS, read_questions
from lmms_eval_worlds.sample import SAMPLE, SAMPLE_DATA, write_sample
from lmms_eval_worlds.scenes.families import families

Row = dict[str, Any]


@cache
def rows_of(subset: str) -> list[Row]:
    rows = make_rows(read_questions(SAMPLE_DATA))
    return [{**row, "asked": True, "clip_present": True} for row in rows if row["subset"] == subset]


def grade(subset: str, answer: Callable[[Row], str]) -> list[Record]:
    task = Rehearsal(subset)
    return [task.record(row, answer(row)) for row in rows_of(subset)]


def scores(subset: str, answer: Callable[[Row], str]) -> dict[str, Any]:
    return Rehearsal(subset).scores(grade(subset, answer))


def test_every_family_and_subset_is_there_and_says_what_its_pairs_are_of_and_views_keep_the_key_true() -> None:
    assert set(FAMILIES) == {name for name, family in families().items() if not family.for_training}
    assert SUBSETS == TASKS and set(BENCHMARK.kinds) == set(SUBSETS)
    views = {name: kind.views for name, kind in BENCHMARK.kinds.items()}
    assert not any("reversed" in of_task for of_task in views.values())
    shuffled = {name for name, of_task in views.items() if "shuffled" in of_task}
    assert shuffled == {"paired", "minimal", "counterfactual"}
    # What the two of a pair are called; where there are no pairs, nobody reads it.
    assert {name: kind.members for name, kind in BENCHMARK.kinds.items() if name not in ("perception", "evidence")} == {
        "paired": "wordings",
        "minimal": "clips",
        "counterfactual": "questions",
        "possible": "clips",
        "reversal": "directions",
    }


@pytest.mark.parametrize("subset", SUBSETS)
def test_a_question_is_asked_whole_and_its_right_answer_is_right(subset: str) -> None:
    found, row, task = scores(subset, oracle), rows_of(subset)[0], Rehearsal(subset)
    assert (found["single_accuracy"], found["unparsed_rate"], found.get("pair_accuracy", 100)) == (100, 0, 100)
    if subset == "evidence":
        assert (found["faithful"], found["im_viou"], found["spurious"]) == (100, 100, 0)
    prompt = task.prompt(row)
    assert row["question"] in prompt and all(option in prompt for option in row["options"] if subset != "possible")
    for said, outcome in (
        (Reply(missing=UnscoredReason.NO_CLIP), "unscored"),
        ("It is hard to tell.", "unparsed"),
        (None, "unparsed"),
    ):
        assert task.record(row, said).outcome.value == outcome


@pytest.mark.parametrize("subset", SUBSETS)
def test_the_chance_of_a_question_is_what_its_guesses_score_together(subset: str) -> None:
    task, guesses = Rehearsal(subset), BENCHMARK.kinds[subset].guesses
    for row in rows_of(subset):
        records = [task.record(row, guess) for guess in guesses(row)]
        right = sum(record.answered == record.expected for record in records)
        assert [record.fields["chance"] for record in records] == [pytest.approx(100 * right / len(records))] * len(
            records
        )


@pytest.mark.parametrize("subset", ["minimal", "counterfactual", "possible", "reversal"])
def test_a_constant_gets_half_and_no_pair(subset: str) -> None:
    said = {"counterfactual": "Yes.", "possible": "Yes"}.get(subset, "A")
    found = scores(subset, lambda row: said)
    assert (found["single_accuracy"], found["pair_accuracy"]) == (50, 0)


def test_marked_questions_and_levels_are_scored_apart() -> None:
    asked, found = rows_of("counterfactual"), scores("counterfactual", lambda row: f"{row['seen'].title()}.")
    assert (found["verdict_accuracy_marked"], found["verdict_accuracy_plain"]) == (0, 100)
    plain = Counter(row["level"] for row in asked if row["marked"] == "plain")
    assert found["verdict_accuracy"] == pytest.approx(100 * plain.total() / len(asked))
    for level, number in Counter(row["level"] for row in asked).items():
        assert found[f"verdict_accuracy_{level}"] == pytest.approx(100 * plain[level] / number)


@pytest.mark.parametrize(("subset", "score"), [("perception", "single_accuracy"), ("paired", "pair_accuracy")])
def test_what_questions_are_about_has_a_score_of_its_own(subset: str, score: str) -> None:
    task, aspects = Rehearsal(subset), {row["aspect"] for row in rows_of(subset)}
    assert aspects == set(ASPECTS[subset])
    for right in aspects:
        said = [(row, oracle(row) if row["aspect"] == right else "None of them.") for row in rows_of(subset)]
        found = task.scores([task.record(row, text) for row, text in said])
        assert {aspect: found[f"{score}_{aspect}"] for aspect in aspects} == {**dict.fromkeys(aspects, 0), right: 100}


@pytest.mark.parametrize(
    ("subset", "score", "column"),
    [
        ("minimal", "pair_accuracy", "start"),
        ("minimal", "single_accuracy", "start"),
        ("paired", "pair_accuracy", "depth"),
        ("perception", "single_accuracy", "depth"),
    ],
)
def test_starts_and_depths_have_scores_of_their_rows_alone(subset: str, score: str, column: str) -> None:
    task, records = Rehearsal(subset), grade(subset, oracle)
    values = {record.stratum[column] for record in records}
    for right in values:
        kept = [
            record if record.stratum[column] == right else replace(record, outcome=Outcome.WRONG) for record in records
        ]
        found = task.scores(kept)
        assert {value: found[f"{score}_{column}_{value}"] for value in values} == {
            **dict.fromkeys(values, 0), right: 100,
        }  # fmt: skip


def test_what_each_task_declares_and_notes_of_an_answer_and_shows_of_it(expected: Expected) -> None:
    """Its scores and those that print an error, its columns and those with an interval, and what guessing scores."""
    lines = [str((CARD.licence, CARD.main_metric, CARD.strata_columns, dict(CARD.chance), CARD.prepare_command))]
    for subset, kind in BENCHMARK.kinds.items():
        assert kind.references is not None
        scores = [f"{one.name}{'' if one.errors == 'none' else f' ({one.errors})'}" for one in kind.metrics]
        columns = [f"{one.heading}{' with interval' if one.interval else ''}" for one in kind.columns]
        chance = [f"{one.metric.name} {one.chance}" for one in kind.references(f"worlds_{subset}", 1)]
        asked = kind.prompt, kind.frame, kind.members, kind.extractor, *kind.visuals, *kind.views
        lines += [subset, *map(", ".join, (asked, scores, columns, chance))]
        row = rows_of(subset)[0]
        for said in (oracle(row), *kind.guesses(row)[-1:]):
            record = Rehearsal(subset).record(row, said)
            lines.append(str({**record.to_json(), "shown": kind.answer_view and kind.answer_view(record, row, said)}))
        lines.append(str(kind.item_view and kind.item_view(record, row)))
    expected("\n".join(lines))


def test_records_say_of_which_scene_and_step_they_are() -> None:
    records = [record for subset in SUBSETS for record in grade(subset, oracle)]
    assert {record.outcome for record in records} == {Outcome.CORRECT}
    assert {record.fields["step"] for record in records} == {*STEPS, ""}
    assert {record.stratum["depth"] for record in records} <= set(DEPTHS)
    for task, graded, shown in (("worlds", records, True), ("worlds_paired", grade("paired", oracle), False)):
        titles = [panel.title for panel in report.panels(task, [RunRecords("1", "oracle", [graded])])]
        assert titles and ("Which step fails first" in titles) is shown


def test_a_sample_has_the_questions_of_some_scenes_and_their_clips(tmp_path: Path) -> None:
    whole, orders = read_questions(SAMPLE_DATA), set[tuple[str, ...]]()
    assert SAMPLE.sizes == {"scenes": len({question.scene for question in whole})}
    for seed in range(6):
        folder, said = tmp_path / str(seed), list[tuple[str, int, int]]()
        folder.mkdir()
        write_sample(folder, seed, {"scenes": 1 + seed % 3}, lambda *step, said=said: said.append(step))
        questions = read_questions(folder)
        scenes = tuple(dict.fromkeys(question.scene for question in questions))
        orders.add(scenes)
        assert len(scenes) == 1 + seed % 3
        assert questions == [one for scene in scenes for one in whole if one.scene == scene]
        clips = {question.clip for question in questions}
        assert {path.name for path in (folder / CLIPS).iterdir()} == clips
        assert said == [("filming clips", number, len(clips)) for number in range(1, len(clips) + 1)]
    assert len({scenes[0] for scenes in orders}) > 1
