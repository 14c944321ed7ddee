"""Answers that never came, or not whole: failed requests, clips that cannot be decoded, answers that were cut off."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asking
import pytest
from lmms_eval.api.instance import GenerationResult, TokenCounts
from loguru import logger
from releases import write_clip
from task_states import docs_of, task_state
from thread_ranks import ThreadRanks

from lmms_eval_tasks.host.asking import unanswered
from lmms_eval_tasks.host.asking.stages import AskedModel, secrets_of
from lmms_eval_tasks.host.asking.unanswered import (
    FailedRequests,
    NotedReplies,
    UnreadableClips,
    describe_silence,
    find_fault,
)
from lmms_eval_tasks.host.evaluate import keep_prediction
from lmms_eval_tasks.host.model.identity import ARGUMENTS, ModelFacts
from lmms_eval_tasks.host.model.readers import OURS, ClipReader
from lmms_eval_tasks.host.tasks.running import Evaluation, ShownLast, TaskRequests
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.answers.reply import CALLED, COUNTED, EMPTY, REASONED, Finish, Reply, describe_empty
from lmms_eval_tasks.utils.data.clips import write_placeholder
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, Outcome, Record, UnscoredReason

FAILED, BUDGET = UnscoredReason.FAILED, UnscoredReason.BUDGET
TASK = "causalvqa_debug_paired"
NO_VIDEO = "Video /clips/1 a.mp4 can not load, check the source"


def test_texts_in_place_of_an_answer_are_told_from_answers() -> None:
    for text, why in {
        "[LMMS_EVAL_REQUEST_FAILED after 3 retries] Connection error.": (FAILED, "Connection error."),
        "[LMMS_EVAL_REQUEST_FAILED] ValueError: no frames": (FAILED, "ValueError: no frames"),
        "[LMMS_EVAL_BUDGET_EXCEEDED]": (BUDGET, ""),
        "[SAFETY_BLOCKED:finish_reason=2]": (UnscoredReason.BLOCKED, "finish_reason=2"),
        "[GENERATION_FAILED] timed out": (FAILED, "timed out"),
        "[ERROR] Unknown": (FAILED, "Unknown"),
        NO_VIDEO: (FAILED, NO_VIDEO),
        "[ERROR] on the board is seen in the clip, so B.": None,
        "B. The answer is no [LMMS_EVAL_REQUEST_FAILED]": None,
        "": None,
        None: None,
    }.items():
        reply = Reply.of_response(text)
        assert reply.why == why and reply.is_answer == (why is None and bool(text))


class Adapter:
    """Returns a text in place of what raises, as lmms-eval's adapters do."""

    def generate_until(self, requests: list[Any]) -> list[Any]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        if not isinstance(request, Exception):
            return request
        try:
            raise request
        except Exception as error:
            level, module = error.args[1:] or ("WARNING", "lmms_eval.models.simple.adapter")
            logger.patch(lambda record: record.update({"name": module})).log(level, f"Error in generating: {error}")
            return ""


SEVEN = GenerationResult("", TokenCounts(output_tokens=7))


def test_an_empty_text_for_an_exception_says_so() -> None:
    failed = "[LMMS_EVAL_REQUEST_FAILED] "
    for asked, returned in (
        (["A", RuntimeError("shapes\ndiffer")], ["A", f"{failed}RuntimeError: shapes differ"]),
        (["A", ""], ["A", ""]),
        ([None, 7], ["", "7"]),
        ([RuntimeError("tried again", "INFO", "lmms_eval.models.chat.adapter")], [""]),
        ([RuntimeError("of a library", "ERROR", "lmms_eval.utils")], [""]),
        ([SEVEN, ValueError("x")], [SEVEN, f"{failed}ValueError: x"]),
    ):
        model = Adapter()
        with AskedModel(model, FailedRequests(model)).lasting():
            assert model.generate_until([ValueError("of an earlier part")]) != [""]
            assert model.generate_until(asked) == returned
        assert model.generate_until([ValueError("x")]) == [""] and not vars(model)


def test_the_response_cache_neither_keeps_nor_gives_a_failure() -> None:
    failed = GenerationResult("[LMMS_EVAL_REQUEST_FAILED after 1 retries] x")
    kept = {"a": "B", "b": failed, "c": "[LMMS_EVAL_BUDGET_EXCEEDED]"}
    cache = SimpleNamespace(_lookup=kept.get, _is_valid_response=lambda response, kind: bool(response))
    with AskedModel(Adapter()).lasting(cache):
        assert [cache._lookup(key) for key in kept] == ["B", None, None]
        valid = [cache._is_valid_response(one, "generate_until") for one in ("", *kept.values())]
        assert valid == [False, True, False, False]
    assert cache._lookup("c") == kept["c"]


@pytest.mark.parametrize("name", ["_lookup", "_is_valid_response"])
def test_a_cache_that_works_otherwise_is_left_as_it_is(name: str) -> None:
    cache = SimpleNamespace(**{name: dict[str, str]().get})
    before = dict(vars(cache))
    with AskedModel(Adapter()).lasting(cache):
        assert vars(cache) == before


def test_an_item_without_an_answer_is_unscored_and_says_why(world: Path) -> None:
    state = task_state(TASK)
    first, second = docs_of(state)

    def grade(doc: Any, text: str) -> Record:
        return Record.from_json(json.loads(json.dumps(state.process_results(doc, [text])["record"])))

    def refuse(row: Any, reply: Reply, _: Any) -> Any:
        raise ValueError(f"graded: {reply.text}")

    failed = grade(first, "[LMMS_EVAL_REQUEST_FAILED after 3 retries] busy (B)")
    spent = grade(second, "[LMMS_EVAL_BUDGET_EXCEEDED]")
    assert (failed.why, spent.why, failed.answered) == ("failed: busy (B)", "budget spent", None)
    scores = state.process_results(second, ["[LMMS_EVAL_BUDGET_EXCEEDED]"])
    assert scores["unscored_rate"] == 100 and scores["unparsed_rate"] is None
    assert describe_silence([state]) == (
        "Nothing was answered, so no result was saved: 2 items have no answer: failed: busy (B) (1); budget spent (1). "
        "The same command asks again."
    )
    silent = grade(first, "")
    assert (silent.outcome.value, silent.detail) == ("unparsed", "empty"), "a model may say nothing"
    with pytest.raises(ValueError, match=r"^graded: $"):
        state.grade_first(first, [""], refuse)
    assert state.is_heard
    # Where answers are kept without grading, too.
    for text, reason in (("[LMMS_EVAL_REQUEST_FAILED] busy", "failed"), ("B", "only predicted")):
        state.begin(ModelFacts(), requests(text, 1, first["item_id"]))
        record = keep_prediction(state, state.process_results, first, [text])["record"]
        assert record["unscored_reason"] == reason
    assert record["detail"] == "", "an answer that is kept is not empty"
    state.begin(ModelFacts(), requests("<think>B</think>", 1, first["item_id"]))
    filtered = grade(first, "")
    assert (filtered.why, filtered.detail) == ("empty", ""), "something came, of which nothing is left to grade"


@pytest.mark.parametrize(
    ("reason", "detail", "kept"),
    [
        (None, "", ("only predicted", "")),
        (None, "read by its last line", ("only predicted", "")),
        (None, EMPTY, ("only predicted", EMPTY)),
        (None, CALLED, ("only predicted", CALLED)),
        (None, CUT_OFF, ("only predicted", CUT_OFF)),
        (UnscoredReason.NO_KEY, "read by its last line", ("only predicted", "")),
        (FAILED, "busy", ("failed", "busy")),
        (UnscoredReason.NO_CLIP, "", ("no clip", "")),
    ],
)
def test_of_an_answer_that_is_not_graded_it_is_kept_how_it_came(
    reason: UnscoredReason | None, detail: str, kept: tuple[str, str]
) -> None:
    outcome = Outcome.UNSCORED if reason else Outcome.WRONG
    fields = {"frame": 3, "prompt": "p", "scores": 7}
    graded = Record("q", "g", {"type": "x"}, "A", "B", outcome, reason, detail=detail, fields=fields, sample=1)
    pair = replace(graded, samples=(replace(graded, answered="C", sample=2),))
    asked: list[list[str]] = []

    def grade(doc: Any, texts: list[str]) -> dict[str, Any]:
        asked.append(texts)
        return {"record": {**pair.to_json(), "data_set": {"kind": "own"}}}

    state: Any = None
    entry = keep_prediction(state, grade, {}, ["B", "C"])
    assert asked == [["", ""]] and entry["bypass"] is None and entry["record"]["data_set"] == {"kind": "own"}
    record = Record.from_json(entry["record"])
    for one in record.each:
        assert (one.unscored_reason and one.unscored_reason.value, one.detail) == kept
        assert (one.answered, one.outcome, one.expected, one.stratum) == (None, Outcome.UNSCORED, "A", {"type": "x"})
        assert one.fields == {"frame": 3, "prompt": "p"}
    assert len(record.each) == 2


def test_one_rank_with_an_answer_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = ThreadRanks(2, monkeypatch)
    silent = {"item-0": (FAILED, "busy"), "item-1": (BUDGET, "")}

    def state(is_heard: bool) -> Any:
        return SimpleNamespace(name="one", silent=silent, is_heard=is_heard)

    for is_heard in (False, True):
        said = ranks.run(lambda rank: describe_silence([state(is_heard and rank == 1)]))  # noqa: B023
        assert [one is None for one in said] == [is_heard] * 2


@pytest.mark.parametrize(
    ("silent", "said"),
    [
        ({"a": (FAILED, "busy")}, "1 item has no answer: failed: busy"),
        ({"a": (FAILED, "busy."), "b": (FAILED, "busy.")}, "2 items have no answer: failed: busy"),
        ({"a": (FAILED, "busy"), "b": (BUDGET, "")}, "2 items have no answer: failed: busy (1); budget spent (1)"),
    ],
)
def test_how_many_items_have_no_answer_is_said_where_all_and_where_some_are_silent(
    silent: dict[str, tuple[UnscoredReason, str]], said: str, warnings: list[str]
) -> None:
    states: list[Any] = [SimpleNamespace(name="one", silent=silent, is_heard=heard) for heard in (False, True)]
    nothing = f"Nothing was answered, so no result was saved: {said}. The same command asks again."
    assert [describe_silence([state]) for state in states] == [nothing, None]
    number, _, why = said.partition(": ")
    assert warnings == [f"{number} and are unscored: {why}. The same command asks them again."]


CLIPS = Path(__file__).parents[1] / "utils" / "data" / "clips"


def reader(*broken: Path) -> ClipReader:
    """A reader that cannot read some clips."""

    def read(path: Path, frames: int) -> tuple[int, str]:
        if path in broken:
            raise RuntimeError("no decoder for AV1")
        return OURS.read(path, frames)

    return ClipReader("some reader", read)


def test_a_clip_is_at_fault_where_it_ends_too_early_or_the_reader_can_read_others(tmp_path: Path) -> None:
    good, sound = write_clip(tmp_path / "good.mp4"), tmp_path / "sound.mp4"
    write_placeholder(sound)
    for one in (None, OURS, reader(sound), reader(good, sound)):  # the last two read nothing at all
        assert find_fault(good, sound, one) is None
    assert find_fault(good, sound, reader(good)) == (
        f"Expected {good} to be read by some reader, but RuntimeError: no decoder for AV1"
    )
    assert "cannot be decoded" in (find_fault(CLIPS / "damaged_inside.mp4", sound, None) or "")
    assert "it was cut off: it lacks at least 3,14" in (find_fault(CLIPS / "cut_short.mp4", sound, None) or "")
    assert "cannot be opened" in (find_fault(tmp_path / "none.mp4", sound, None) or "")


@pytest.mark.parametrize(("length", "tried"), [(1, 2), (5, 4), (8, 8), (20, 8)])
def test_a_reader_is_tried_with_an_even_number_of_frames_and_at_most_eight(
    length: int, tried: int, tmp_path: Path
) -> None:
    asked: list[tuple[Path, int]] = []

    def read(path: Path, frames: int) -> tuple[int, str]:
        asked.append((path, frames))
        if path == clip:
            raise RuntimeError("no decoder")
        return OURS.read(path, frames)

    clip, sound = write_clip(tmp_path / "clip.mp4", frames=length), tmp_path / "sound.mp4"
    write_placeholder(sound)
    assert find_fault(clip, sound, ClipReader("some reader", read)) and asked == [(clip, tried), (sound, 8)]


class Model:
    """Answers with the names of clips, all of a call at once, unless it stumbles over one."""

    def __init__(self, clips: list[Path], stumbles: str = "damaged", says: str | None = None) -> None:
        self.calls: list[list[str]] = []
        self.stumbles, self.says = stumbles, says
        self.task_dict = {"ours": {"test": [{"item_id": clip.stem, "clip": clip} for clip in clips]}}

    def generate_until(self, requests: list[Any]) -> list[str]:
        names = [self.task_dict["ours"]["test"][request.args[-3]]["item_id"] for request in requests]
        self.calls.append(names)
        if self.stumbles in names and self.says:
            return [self.says] * len(names)
        if self.stumbles in names:
            raise ValueError(f"cannot read {self.stumbles}")
        return names


@pytest.fixture
def clips(home: Path, tmp_path: Path) -> list[Path]:
    (home / "some").mkdir(parents=True)
    write_placeholder(home / "some" / "placeholder.mp4")
    shutil.copy(CLIPS / "damaged_inside.mp4", tmp_path / "damaged.mp4")
    return [write_clip(tmp_path / "a.mp4"), tmp_path / "damaged.mp4", write_clip(tmp_path / "b.mp4")]


def answers_of(model: Model, *more: Any) -> tuple[list[str], dict[Any, Any]]:
    """A model's answers about its clips, and what is unanswered and why."""
    noted: dict[int, Reply] = {}
    of_task: Any = SimpleNamespace(note=lambda document, sample, reply: noted.update({document: reply}))
    task = asking.stand_in_task(clips=lambda row: (row["clip"],))
    evaluation = Evaluation(tasks={"ours": task})
    requests = [asking.request(doc) for doc in range(3)]
    said = asking.ask(model, [*requests, *more], NotedReplies({"ours": of_task}), UnreadableClips(model, evaluation))
    names = [row["item_id"] for row in model.task_dict["ours"]["test"]]
    return said, {("ours", names[document]): reply.why for document, reply in noted.items()}


def test_the_others_are_asked_again_once(clips: list[Path]) -> None:
    model, theirs = Model(clips), asking.request(0)
    theirs.metadata["task"] = "theirs"
    said, silent = answers_of(model, theirs)
    assert said == ["a", "", "b", "a"] and model.calls == [["a", "damaged", "b", "a"], ["a", "b", "a"]]
    reason, detail = silent["ours", "damaged"]
    assert reason is UnscoredReason.UNREADABLE_CLIP and "damaged.mp4" in detail and len(silent) == 1


def test_what_an_adapter_says_in_place_of_an_answer_is_looked_into(clips: list[Path]) -> None:
    failed = "[LMMS_EVAL_REQUEST_FAILED after 5 retries] module has no attribute read_video"
    model = Model(clips, says=failed)
    said, silent = answers_of(model)
    assert said == ["a", "", "b"] and model.calls[1:] == [["a", "b"]]
    assert silent["ours", "damaged"][0] is UnscoredReason.UNREADABLE_CLIP
    # One that has each answer from a call of its own is not asked again.
    single = Model(clips, says=failed)
    single.maybe_forward_with_tool = None  # type: ignore[attr-defined]
    said, silent = answers_of(single)
    assert said == [failed, "", failed] and len(single.calls) == 1
    assert [item for (_, item), why in silent.items() if why and why[0] is not FAILED] == ["damaged"]
    outage = Model([clips[0], clips[2], clips[0]], "b", says=failed)
    said, silent = answers_of(outage)
    assert said == [failed] * 3 and {why[0] for why in silent.values()} == {FAILED} and len(outage.calls) == 1


@pytest.mark.parametrize(("sound", "found"), [(2, True), (3, False)])
def test_after_three_sound_clips_in_a_row_the_others_are_not_looked_at(
    clips: list[Path], sound: int, found: bool
) -> None:
    model = Model([*[clips[0]] * sound, clips[1]], says="[LMMS_EVAL_REQUEST_FAILED] busy")
    noted: dict[int, Reply] = {}
    of_task: Any = SimpleNamespace(note=lambda document, sample, reply: noted.update({document: reply}))
    evaluation = Evaluation(tasks={"ours": asking.stand_in_task(clips=lambda row: (row["clip"],))})
    asked = [asking.request(doc) for doc in range(sound + 1)]
    asking.ask(model, asked, NotedReplies({"ours": of_task}), UnreadableClips(model, evaluation))
    assert (noted[sound].missing is UnscoredReason.UNREADABLE_CLIP) is found


def test_a_failure_that_no_clip_explains_is_raised(clips: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [clips[0], clips[2], clips[0]]
    for shown in (whole, clips):  # one that goes on without the damaged clip ends the run too
        with pytest.raises(ValueError, match="cannot read b"):
            answers_of(Model(shown, stumbles="b"))
    monkeypatch.setattr(unanswered, "find_reader", lambda kind, arguments: reader(*whole))
    assert answers_of(Model(whole, stumbles="b"))[0] == ["", "", ""], "its reader cannot read any of these"


def test_a_failure_names_the_item_and_what_was_shown(clips: list[Path], log: list[str]) -> None:
    whole, picture = [clips[0], clips[2], clips[0]], SimpleNamespace(width=4, height=2)
    for seen, words in (
        ([str(clips[2])], "the clip b.mp4"),
        ([picture, picture], "a picture of 4 x 2 pixels and a picture of 4 x 2 pixels"),
        ([], "no clip and no picture"),
    ):
        model, task = Model(whole, stumbles="b"), asking.stand_in_task(clips=lambda row: (row["clip"],))
        other = asking.stand_in_task()
        other.shown_last, task.shown_last = ShownLast(1.0, "item-6", []), ShownLast(2.0, "item-7 of ours", seen)
        evaluation = Evaluation(tasks={"ours": task, "other": other})
        with pytest.raises(ValueError, match="cannot read b"):
            asking.ask(model, [asking.request(doc) for doc in range(3)], UnreadableClips(model, evaluation))
        assert f"The model failed at item-7 of ours, of which it was shown {words}: ValueError: cannot read b" in log


def test_a_line_of_a_log_gives_its_reply_again(tmp_path: Path) -> None:
    def line(item: str, response: str, outcome: Outcome, detail: str = "", **more: Any) -> dict[str, Any]:
        record = Record(item, item, {}, "A", None, outcome, detail=detail, **more)
        return {"resps": [response], "filtered_resps": [response], "record": record.to_json()}

    lines = [
        line("whole", "A", Outcome.CORRECT),
        line("cut", "It is", Outcome.UNPARSED, CUT_OFF),
        line("empty", "", Outcome.UNPARSED, COUNTED),
        line("blocked", "", Outcome.UNSCORED, "content_filter", unscored_reason=UnscoredReason.BLOCKED),
        line("failed", "[LMMS_EVAL_REQUEST_FAILED] busy", Outcome.UNSCORED, "busy", unscored_reason=FAILED),
    ]
    log = tmp_path / f"20260101_000000_samples_{TASK}.jsonl"
    log.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    replies = [Reply.of_record(Record.from_json(one["record"]), one["resps"][0]) for one in lines]
    saved = read_responses(log)
    assert [saved.find(TASK, one["record"]["item_id"]) for one in lines] == replies, "a replay gives the same"
    assert [reply.cut_off for reply in replies] == [False, True, False, False, False]
    assert [reply.silence for reply in replies] == ["", "", COUNTED, "", ""]
    blocked = UnscoredReason.BLOCKED, "content_filter"
    assert [reply.why for reply in replies] == [None, None, None, blocked, (FAILED, "busy")]


def test_of_what_a_server_said_all_is_kept_but_that_the_reply_ended() -> None:
    for finish, kept in (
        (Finish(), {}),
        (Finish("stop"), {}),
        (Finish("length"), {"reason": "length"}),
        (Finish("stop", refusal="stop", tools=("look",)), {"refusal": "stop", "tools": ["look"]}),
    ):
        reply = Reply("(A)", counts=TokenCounts(output_tokens=2), finish=finish)
        written = json.loads(json.dumps(reply.to_json()))
        assert written.get("finish", {}) == kept and reply.is_plain == (not kept)
        ended = replace(finish, reason="" if finish.reason == "stop" else finish.reason)
        assert Reply.from_json(written, TokenCounts) == replace(reply, finish=ended)


def test_a_reply_has_a_text_whatever_its_content() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    for content, text in (
        (None, ""),
        (7, "7"),
        (True, "true"),
        ("B", "B"),
        ([{"type": "text", "text": "B"}, " or ", {"type": "output_text", "text": "C"}], "B or C"),
        ({"type": "text", "text": [{"text": "B"}]}, "B"),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]}, {"type": "text", "text": "B"}], "B"),
        ([None, {}, {"type": "image_url"}, []], ""),
        (deep, ""),
        (b"B", "\"b'B'\""),
    ):
        assert Reply.of_response(content).text == text
    thought = Reply.of_response([{"type": "thinking", "thinking": "A"}])
    assert thought.silence == REASONED and not thought.is_answer
    assert Reply.of_response([{"type": "refusal", "refusal": "No."}]).why == (UnscoredReason.BLOCKED, "refused: No.")


def test_keys_that_a_model_may_have_sent_are_those_of_its_client_its_arguments_and_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "environ", {"SOME_SERVICE_API_KEY": "key-of-environment", "HOME": "some-folder"})
    model = SimpleNamespace(client=SimpleNamespace(api_key="key-of-client"))
    assert {*secrets_of(model)} == {"key-of-environment", "key-of-client"}
    setattr(model, ARGUMENTS, "model_version=some-version,api_key=key-of-arguments")
    assert {*secrets_of(model)} == {"key-of-environment", "key-of-client", "key-of-arguments"}
    model.client.api_key = None
    assert {*secrets_of(model)} == {"key-of-environment", "key-of-arguments"}


def test_keys_and_escape_sequences_go_and_words_stay() -> None:
    secrets = ("my-key-of-0815", "banana")
    said = "The key: B. The flag bearer responsibly holds a banana. my-key-of-0815 \x1b[31mred\x1b[0m\n\ttab\xa0 é"
    kept = "The key: B. The flag bearer responsibly holds a banana. [hidden] \\x1b[31mred\\x1b[0m\n\ttab\xa0 é"
    assert Reply.of_response(said, secrets=secrets).text == kept
    assert Reply.of_response(said).text == said, "what is no server's stays as it is"
    for key in ("sk-proj-0123456789abcdef", "hf_0123456789abcdefgh", "Bearer abcdefgh12345678ijkl"):
        shown = Reply.of_response(f"I was given {key}", secrets=()).text
        assert "[hidden]" in shown and "0123456" not in shown and "12345678" not in shown
    failed = Reply.of_response("[LMMS_EVAL_REQUEST_FAILED] api_key=abc banana \x1b[31m", secrets=secrets)
    assert failed.detail == "api_key=[hidden] [hidden] \\x1b[31m" and "banana" not in failed.text


WEIGHED = "The clip is short. So it is B. The man is next"
LIMIT = 64


class Documents(list[dict[str, str]]):
    def select_columns(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(to_dict=lambda: {name: [row[name] for row in self]})


def requests(text: str, tokens: int | None, item: str = "item", limit: Any = LIMIT, model: Any = None) -> TaskRequests:
    """The requests of a task with one item, and the model's answer to it."""
    counts = None if tokens is None else TokenCounts(output_tokens=tokens)
    request = SimpleNamespace(doc_id=0, resps=[text], token_counts=[counts])
    config = SimpleNamespace(generation_kwargs={"max_new_tokens": limit})
    task = SimpleNamespace(eval_docs=Documents([{"item_id": item}]), instances=[request], config=config)
    return TaskRequests(task, model)


def words(text: str, **_: Any) -> dict[str, list[str]]:
    return {"input_ids": text.split()}


def test_an_answer_that_used_all_its_tokens_was_cut_off() -> None:
    for said, tokens, tokenizer, is_cut_off in (
        (LIMIT, LIMIT, words, True),
        (LIMIT, LIMIT - 1, words, False),
        (LIMIT, None, words, False),
        (3, LIMIT, words, False),  # padded to the longest of its batch
        (0, LIMIT, None, True),  # a server whose reasoning is no part of the text
    ):
        model, text = SimpleNamespace(tokenizer=tokenizer), "word " * said
        for limit, ends in ((LIMIT, is_cut_off), (str(LIMIT), is_cut_off), ("many", False)):
            replies = requests(text, tokens, limit=limit, model=model)
            assert (reply := replies.find("item")) and (reply.text, reply.cut_off) == (text, ends)
            assert replies.find("of another rank") is replies.find("item", sample=2) is None


def test_what_it_weighs_is_not_read_and_its_record_says_why(world: Path) -> None:
    def graded(text: str, cut_off: bool, key: str | None = "B") -> Record:
        state = task_state(TASK)
        doc = {**docs_of(state)[0], "answer": key}
        state.begin(ModelFacts(), requests(text, LIMIT if cut_off else 1, doc["item_id"]))
        return Record.from_json(json.loads(json.dumps(state.process_results(doc, [text])["record"])))

    assert (graded(WEIGHED, False).answered, graded(WEIGHED, False).detail) == ("B", "")
    cut = graded(WEIGHED, True)
    assert (cut.outcome, cut.answered, cut.detail) == (Outcome.UNPARSED, None, CUT_OFF)
    readable = graded("Answer: B. The curtain", True)
    assert (readable.outcome, readable.detail) == (Outcome.CORRECT, CUT_OFF)
    assert graded(WEIGHED, True, key=None).why == "no answer key: cut off"
    open_ended = graded("<think>First the cat, A. Then the curtain moves, which fits B. Now C, and", False)
    assert (open_ended.outcome, open_ended.detail) == (Outcome.UNPARSED, CUT_OFF)
    assert graded("<think>It is B.</think>I cannot tell.", False).detail == ""


def test_keys_in_a_servers_text_are_hidden_and_a_model_of_ours_has_said_what_it_said() -> None:
    key = "sk-0123456789abcdef"

    class Theirs:
        client = SimpleNamespace(api_key=key)

        def generate_until(self, requests: list[Any]) -> list[str]:
            return [f"B, by {key}."] * len(requests)

    ours = type("Ours", (Theirs,), {"__module__": "lmms_eval_tasks.models.ours"})
    assert asking.ask(Theirs(), [asking.request(0)]) == ["B, by [hidden]."]
    assert asking.ask(ours(), [asking.request(0)]) == [f"B, by {key}."]


def test_empty_answers_are_counted_with_what_to_look_at() -> None:
    assert describe_empty([]) is describe_empty(["the clip is torn", ""]) is None
    assert describe_empty([EMPTY, "other"]) == "1 answer was empty; the same command asks again, once"
    assert describe_empty([EMPTY, CALLED, EMPTY], " in one") == (
        "3 answers were empty in one, 1 with a tool call in its place; the same command asks again, once"
    )
    for details, number in (([COUNTED, REASONED], ""), ([COUNTED, EMPTY], "1 of them ")):
        assert describe_empty(details) == (
            f"2 answers were empty, {number}although tokens were counted: the server may put them into "
            "`reasoning_content`; see docs/api_models.md, Empty answers"
        )


def test_a_reply_is_kept_as_values_and_read_again() -> None:
    whole = Reply("B", counts=TokenCounts(1, 2, 3), finish=Finish(reason="length", tools=("look",)))
    for reply in (whole, Reply("B"), Reply("", finish=Finish(refusal="no"))):
        read = Reply.from_json(json.loads(json.dumps(reply.to_json())), TokenCounts)
        assert (read.text, read.counts, read.finish) == (reply.text, reply.counts, reply.finish)
    assert Reply("B").to_json() == {"text": "B", "tokens": None}
    for wrong, error in (({"text": 3, "tokens": None}, TypeError), ({"text": "B"}, KeyError)):
        with pytest.raises(error):
            Reply.from_json(wrong, TokenCounts)
    blocked = Reply.of_response("[SAFETY_BLOCKED:finish_reason=2]")
    assert blocked.silence == "" and not blocked.is_plain and Reply("B").is_plain and not Reply("B").used_all().is_plain
    assert [Reply(text).is_answer for text in ("B", " ", "")] == [True, False, False]
