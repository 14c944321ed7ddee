"""`build cast_bench` on the sample world: what a planted fault becomes, and what the set that is left is."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cast_bench_player import NOBODY, CastBenchPlayer, picture_at, pixels_of, role_of
from cast_bench_world import CUE, FAULTS, GHOSTS, BuildWorld, planted_world
from judge_server import Action, JudgeServer
from scipy import ndimage
from shared import made_once
from stub_server import material_of

from lmms_eval_tasks.cast_bench.benchmark import prepare, read_descriptions
from lmms_eval_tasks.cast_bench.card import OPTION_KINDS
from lmms_eval_tasks.cast_bench.masked import UNABLE, timed_boxes
from lmms_eval_tasks.cast_bench.release import read_items
from lmms_eval_tasks.construct.cast_bench import build
from lmms_eval_tasks.construct.engine.attrition import BuiltSet
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.made import boxes_at
from lmms_eval_tasks.utils.data.pictures import as_jpeg

pytestmark = pytest.mark.slow  # a whole build comes first

BY_FAULT = {
    "unseen": ("boxes", "evidence without a box"),
    "thing": ("schema", "a subject that is no person"),
    "verbose": ("schema", "answer of more than 15 words"),
    "seven": ("schema", "more than five pieces of evidence"),
    "late": ("schema", "evidence outside the clip"),
    "typeless": ("schema", "unknown type of question"),
    "stranger": ("schema", "unknown subject"),
    "beyond": ("schema", "question outside the clip"),
    "leaked": ("schema", "the question holds its answer"),
    "again": ("distinct questions", "asked before"),
    "bare": ("schema", "no evidence"),
    "marked": ("schema", "an option says which it is"),
    "numbered": ("schema", "an instance is called by its id"),
    "synonym": ("distractors", "text distractor does not exclude the answer"),
    "lengthy": ("distractors", "text distractor of more than 15 words"),
    "naming": ("distractors", "text distractor names what the question does not"),
    "equal": ("distractors", "video distractor equals the answer"),
    "malformed": ("distractors", "no usable reply: malformed JSON"),
    "refused": ("distractors", "no usable reply: refusal"),
    "held": ("distractors", "no usable reply: timed out"),
    "longer": ("near-misses", "near-miss: length not within 10%"),
    "apart": ("near-misses", "near-miss: more than one attribute changed"),
    "both": ("near-misses", "near-miss: more than one attribute changed"),
    "reworded": ("near-misses", "near-miss: means the same as another option"),
    "labelled": ("near-misses", "near-miss: says which option it is"),
    "twin": ("near-misses", "near-miss: equals another option"),
    "guessable": ("text filter", "answered right without the clip"),
    "cue": ("video-mask filter", "answered right with its evidence masked"),
}
OF_CLIPS = {
    "blur": "blurred", "camera shake": "shaken", "cut": "cut", "fewer than two instances in the tracks": "lone",
    "unreadable clip": "unreadable", "model: no several people who act apart": "idle",
}  # fmt: skip
OF_INSTANCES = {
    "description of 30 words or more": "wordy", "no usable reply: refusal": "mute",
    "no usable reply: malformed JSON": "broken",
    "no usable reply: missing END": "endless", "entry outside the clip": "untimely",
}  # fmt: skip


@dataclass(frozen=True)
class Masked:
    """A question that was asked about a masked clip, and the pictures that were shown."""

    question: str
    options: list[str]
    seconds: list[int]
    pictures: tuple[bytes, ...]


@dataclass(frozen=True)
class Built:
    world: BuildWorld
    out: Path
    built: BuiltSet
    masked: list[Masked]

    def rows(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / name).read_text(encoding="utf-8").splitlines()]

    @property
    def items(self) -> list[dict[str, Any]]:
        return self.rows("release/castbench_hf.jsonl")

    @property
    def roles(self) -> list[dict[str, Any]]:
        return self.rows("release/roles.jsonl")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> BuildWorld:
    root = made_once(tmp_path_factory, "cast_bench_world", lambda root: planted_world(root / "world"))
    return BuildWorld.load(root / "world")


@pytest.fixture(scope="module")
def built(world: BuildWorld, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    folder = tmp_path_factory.mktemp("built")
    player = CastBenchPlayer(world)
    masked: list[Masked] = []

    def script(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        if role_of(prompt) == "masked":
            given = material_of(prompt)
            seconds = [int(time.removeprefix("00:")) for time in given["seconds"]]
            masked.append(Masked(given["question"], list(given["options"].values()), seconds, pictures))
        return player(prompt, pictures, before)

    with JudgeServer(picture_script=script) as server:
        made = build(world.config(server.url, folder, silence=1.0), folder / "out")
    yield Built(world, folder / "out", made, masked)


def removed(built: Built) -> dict[str, tuple[str, str]]:
    """Row to the step that removed it and the reason."""
    steps = {}
    names = [step["step"] for step in json.loads((built.out / "attrition.json").read_text())["steps"]]
    for name, path in zip(names, sorted((built.out / "steps").iterdir()), strict=True):
        for line in built.rows(f"steps/{path.name}"):
            if line["removed"]:
                steps[line["row"]] = (name, line["removed"])
    return steps


def test_every_planted_fault_is_caught_where_it_should_be(built: Built) -> None:
    reasons = removed(built)
    planted = {}
    for stem, faults in built.world.faults.items():
        for number, fault in enumerate(faults, len(built.world.truth[stem]) + 1):
            planted[fault] = reasons.pop(f"{stem}#{number}")
    assert planted == BY_FAULT and set(planted) == set(FAULTS)
    instances = {
        reason: built.world.names[row.partition("/")[0]][row.partition("/")[2]]
        for row, (_, reason) in reasons.items()
        if "/" in row
    }
    assert instances == {reason: f"{name} thing" for reason, name in OF_INSTANCES.items()}
    assert {reason: row for row, (_, reason) in reasons.items() if "/" not in row} == OF_CLIPS


def test_the_attrition_table_names_each_of_them(built: Built) -> None:
    (table,) = built.built.tables
    named: Counter[tuple[str, str]] = Counter()
    step = ""
    for name, number, *_ in table.rows:
        if name.startswith("  ") and number.startswith("-"):
            named[step, name.strip()] += -int(number)
        elif not name.startswith("  "):
            step = name
    assert named == Counter(removed(built).values())
    counts = {name: (number, paper) for name, number, _, paper in table.rows}
    assert counts["clip selection"] == ("6", "1,015") and counts["dynamic description"] == ("31", "10,728")
    assert counts["video-mask filter"] == ("6", "about 40% after both filters")
    assert counts["  asked again: malformed JSON"] == ("(3)", "")  # three clips have a red ball


def test_what_is_left_is_the_truth_in_the_released_form(built: Built) -> None:
    truth = {row["question"]: row for rows in built.world.truth.values() for row in rows}
    items = built.items
    assert {item["question"] for item in items} == set(truth) and len(items) == 6
    for item in items:
        row = truth[item["question"]]
        assert list(item) == list(row)
        assert item["evidence"] == row["evidence"]
        assert item["options"][item["answer"]] == row["options"][row["answer"]]
        assert (item["video"], item["question_type"]) == (row["video"], row["question_type"])
        clip = built.out / "release" / "videos" / item["video"]
        assert clip.read_bytes() == (built.world.folder / "clips" / item["video"]).read_bytes()
    rows, problems, warnings = read_items((built.out / "release" / "castbench_hf.jsonl").read_bytes())
    assert (len(rows), len(problems), warnings) == (6, 0, [])


def test_what_breaks_a_rule_is_shown_to_its_writer_and_written_again(built: Built) -> None:
    kept = {beside["id"] for beside in built.roles}
    for name, role, times in (("11_distractors", "text_distractor", 2), ("12_near-misses", "near_miss", 6)):
        for line in built.rows(f"steps/{name}.jsonl"):
            asked = [one["reply"] for one in line["asked"] if one["role"] == role]
            assert line["row"] not in kept or len(asked) == times
    described = built.rows("steps/05_dynamic_description.jsonl")
    assert sum(len(line["asked"]) == 2 and not line["removed"] for line in described) >= 3


def test_the_file_beside_it_has_subjects_and_the_role_of_every_option(built: Built) -> None:
    for item, beside in zip(built.items, built.roles, strict=True):
        assert (beside["question"], beside["video"]) == (item["question"], item["video"])
        assert list(beside["option_roles"]) == list(item["options"]) == list("ABCDEF")
        roles = {role: letter for letter, role in beside["option_roles"].items()}
        assert set(roles) == {"answer", *OPTION_KINDS} - {"near-miss"} and roles["answer"] == item["answer"]
        evidence = json.loads(item["evidence"])
        named = (evidence[0]["evidence_instance_id"], evidence[0]["evidence_start_time"])
        if item["video"] == NOBODY:
            named = (None, None)
        assert (beside["subject"], beside["question_start_time"]) == named
    assert NOBODY in {item["video"] for item in built.items}
    assert len({item["answer"] for item in built.items}) > 1


def test_a_near_miss_changes_one_attribute_and_keeps_its_length(built: Built) -> None:
    pairs = []
    for item, beside in zip(built.items, built.roles, strict=True):
        texts = {role: item["options"][letter] for letter, role in beside["option_roles"].items()}
        assert len(set(texts.values())) == 6 and len(texts["text-based"].split()) <= 15
        pairs += [(texts[role], texts[f"near-miss-of-{role}"]) for role in ("answer", "text-based", "video-based")]
    for original, near_miss in pairs:
        before, after = original.split(), near_miss.split()
        changes = [one for one in SequenceMatcher(None, before, after).get_opcodes() if one[0] != "equal"]
        assert len(changes) == 1 and changes[0][2] - changes[0][1] == changes[0][4] - changes[0][3] == 1
        assert abs(len(near_miss) - len(original)) <= 0.1 * len(original)


def test_the_masked_clip_is_black_where_subject_and_evidence_are_and_nowhere_else(built: Built) -> None:
    truth = {row["question"]: row for rows in built.world.truth.values() for row in rows}
    asked = [one for one in built.masked if one.question in truth]
    assert len(asked) == 6
    masked_seconds = 0
    for one in asked:
        assert one.options[-1] == UNABLE and len(one.options) == 7
        row = truth[one.question]
        # The subject is the first piece of evidence's, in the same seconds, where one is named.
        boxes = timed_boxes({"evidence": row["evidence"]})
        for second, picture in zip(one.seconds, one.pictures, strict=True):
            hidden = np.zeros((144, 192), dtype=bool)
            for box in boxes_at(second, boxes):
                x1, y1, x2, y2 = map(int, box)
                hidden[y1:y2, x1:x2] = True
            source = picture_at(built.world.folder / "clips" / row["video"], second)
            shown, whole = pixels_of(picture).astype(int), pixels_of(as_jpeg(source, 768)).astype(int)
            masked_seconds += bool(hidden.any())
            assert not hidden.any() or shown[hidden].mean() < 12
            # JPEG blends the colours of blocks of 16 pixels.
            assert np.abs(shown - whole)[ndimage.maximum_filter(hidden, 37) == 0].max() <= 2
    assert masked_seconds >= 30


def test_the_cue_stays_in_sight_and_gives_its_question_away(built: Built) -> None:
    (cued,) = [one for one in built.masked if "(cue)" in one.question]
    assert all(np.ptp(pixels_of(picture)[:CUE, :CUE].mean(axis=(0, 1))) > 60 for picture in cued.pictures)
    tracks = json.loads((built.world.folder / "tracks" / "cued.json").read_text())["instances"]
    for second, picture in zip(cued.seconds, cued.pictures, strict=True):
        # The second instance is the subject all the time, the first one evidence up to second 2.
        for instance, last in ((tracks[1], cued.seconds[-1]), (tracks[0], 2)):
            x1, y1, x2, y2 = instance["boxes"][str(second)]
            assert (pixels_of(picture)[y1:y2, x1:x2].mean() < 12) == (second <= last)
    row = f"cued#{built.world.faults['cued'].index('cue') + 1}"
    assert removed(built)[row] == ("video-mask filter", "answered right with its evidence masked")


def test_prepare_takes_it_with_the_kinds_of_its_options(built: Built, home: Path) -> None:
    (split,) = prepare(str(built.out / "release")).values()
    assert split.data_set.is_sample and built.built.warnings == [
        "1 rows went because a server gave no reply; the same command asks for them again."
    ]
    assert set(split.source_sha256) == {"castbench_hf.jsonl", "roles.jsonl"}
    # Nothing but that it is not the published set.
    assert all(re.fullmatch(r"Expected \d+ \w+, but got \d+\.", warning) for warning in split.warnings)
    for row, beside in zip(load_table("cast_bench", "test"), built.roles, strict=True):
        assert row["option_kinds"] == [None if role == "answer" else role for role in beside["option_roles"].values()]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda lines: lines[:-1], "roles.jsonl, lines: Expected 6, one for each question, but got 5"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "roles.jsonl, question: Expected that of the same line"),
        (lambda lines: [{**lines[0], "option_roles": {"A": "answer"}}, *lines[1:]], "Expected a role for each option"),
        (
            lambda lines: [{**lines[0], "option_roles": dict.fromkeys("ABCDEF", "answer")}, *lines[1:]],
            "roles.jsonl, option_roles: Expected answer for the right option alone, but not in line 1",
        ),
        (lambda lines: [{**lines[0], "more": 1}, *lines[1:]], "roles.jsonl, fields: Expected id, video, question"),
    ],
)
def test_roles_that_are_not_of_the_release_are_refused(
    spoil: Callable[[list[Any]], list[Any]], message: str, built: Built, home: Path, tmp_path: Path
) -> None:
    for name in ("castbench_hf.jsonl", "roles.jsonl"):
        (tmp_path / name).write_bytes((built.out / "release" / name).read_bytes())
    (tmp_path / "roles.jsonl").write_text("".join(json.dumps(line) + "\n" for line in spoil(built.roles)))
    with pytest.raises(InputError, match=re.escape(message)):
        prepare(str(tmp_path))
    assert not (home / "cast_bench").exists()


def test_people_can_edit_what_the_instances_do(built: Built, home: Path) -> None:
    folder = built.out / "release" / "descriptions"
    prepare(str(folder), videos=built.out / "release" / "videos")
    rows = load_table("cast_bench", "test").to_list()
    assert [row["item_id"] for row in rows] == [f"sav_00000{number}_1" for number in range(5)]
    for row in rows:
        stem = row["item_id"][:-2]
        described = read_descriptions(row)
        names = [name.replace(" ", "_") for name in built.world.names[stem].values()]
        assert {one.name for one in described} == set(names) - {
            f"{ghost}_thing" for ghost in GHOSTS if ghost != "brief"
        }
        assert {(one.start, one.end) for one in described} == {(0, built.world.last[stem])}
        assert all(len(one.boxes) == one.end + 1 for one in described if one.name != "brief_thing")
