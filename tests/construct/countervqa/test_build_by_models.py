"""`build` with models in all roles: what they say, what they fail at, and what they may be asked for."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from annotated_takes import draw_takes, write_takes
from build_player import BuildPlayer
from countervqa_builds import Drawn, build, facts_of, flip, named, player, rows
from expected import Expected
from judge_server import Action, Fail, Hold, JudgeServer, Say
from refusals import refusal
from releases import write_clip
from stub_server import CounterVqaPlayer, material_of

from lmms_eval_tasks.construct.countervqa.checks import check_set
from lmms_eval_tasks.construct.countervqa.graphs import TakeLinks
from lmms_eval_tasks.construct.countervqa.links import choose_pairs, judge_pairs
from lmms_eval_tasks.construct.countervqa.pipeline import log_lines
from lmms_eval_tasks.construct.countervqa.rows import CounterVqaConfig, TakeRow
from lmms_eval_tasks.construct.countervqa.takes import Take, TimedAction
from lmms_eval_tasks.construct.engine.roles import Models
from lmms_eval_tasks.construct.engine.running import run_steps
from lmms_eval_tasks.countervqa.benchmark import prepare
from lmms_eval_tasks.countervqa.release import GRAPHS, QUESTIONS
from lmms_eval_tasks.registry import load_table

role_of = CounterVqaPlayer.role_of
FILES = ("questions.jsonl", "graphs.jsonl", "takes.jsonl", "steps.jsonl", "build.json")
LOOSE = {"min_ancd": 0.0, "min_depth": 1, "min_cnda": 0.0}


def draw(number: int, actions: int, links: list[tuple[int, int]]) -> Drawn:
    takes = draw_takes(number, actions=actions)
    for take in takes.values():
        take["links"] = links
    return takes


# A fifth of the pairs goes on, so a take has no more links than that.
LONG = draw(12, 7, [(0, 1), (1, 2), (2, 3), (4, 5)])
SHORT = draw(4, 6, [(0, 1), (1, 3), (4, 5)])


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    annotations, _, tasks = write_takes(tmp_path_factory.mktemp("long"), LONG)
    return {"annotations": [annotations], "takes": tasks, "min_depth": 2, "candidates": 5}


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    annotations, _, tasks = write_takes(tmp_path_factory.mktemp("short"), SHORT)
    return {"annotations": [annotations], "takes": tasks, **LOOSE}


def verifiers(server: JudgeServer) -> list[str]:
    return [named(server, "v1"), named(server, "v2")]


def whole(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def test_without_faults_the_links_are_the_true_ones(long: dict[str, Any], tmp_path: Path) -> None:
    annotations, _, tasks = write_takes(tmp_path, dict(list(LONG.items())[:4]))
    with JudgeServer(picture_script=player(LONG)) as server:
        keys = {**long, "annotations": [annotations], "takes": tasks, "model": named(server), "rephrase": True}
        keys["verify_with"] = verifiers(server)
        forecast = build(tmp_path / "forecast", **keys, dry_run=True).tables[0]
        assert not server.asked and not (tmp_path / "forecast").exists()
        # A role may have a model of its own.
        observer = {"observer": {"model": "o", "provider": "local", "url": server.url}}
        warnings = build(tmp_path / "set", **keys, roles=observer).warnings
        # Both verifying models are asked the same.
        assert {role_of(prompt) for prompt, times in server.asked.items() if times == 2} == {"verification"}
        assert set(server.asked.values()) == {1, 2}
        assert {body["model"] for body in server.bodies} == {"m", "v1", "v2", "o"}
        asked = Counter(role_of(prompt) for prompt in server.asked)
    assert not any("usable reply" in warning for warning in warnings)
    check_set(tmp_path / "set")
    for graph in rows(tmp_path / "set" / GRAPHS):
        take = LONG[graph["clip"].removesuffix(".mp4")]
        links = [(f"A{a:02d}", f"A{b:02d}") for a, b in take["links"]]
        assert [(link["cause"], link["effect"]) for link in graph["links"]] == links
    questions = rows(tmp_path / "set" / QUESTIONS)
    assert all(question["question"].startswith("Say: If “") for question in questions)
    assert {question["absent_action"] for question in questions} == {None, "C sings a song.", "C dances.", "C hums."}
    counts = facts_of(tmp_path / "set")["counts"]
    # Of 21 pairs of a take a fifth goes on, 5.
    assert list(counts["pairs"].values()) == [4 * 21, 4 * 5, 4 * 4, 4 * 16, 0] and counts["rejected"] == {}
    # Every pair, the share of them by three roles, and the paper's share of clips.
    requests = {row[0]: int(row[2].replace(",", "")) for row in forecast.rows}
    assert requests["observer"] == asked["observer"]
    assert requests["judged pairs"] == sum(asked[role] for role in ("verifier", "critic", "synthesizer"))
    assert requests["absent actions"] == round(4 * 712 / 1200)
    assert requests["rephrasing"] == round(4 * 712 / 1200 * 15)
    assert requests["verification"] == round(4 * 712 / 1200 * 15 * 2)


@pytest.mark.slow
def test_what_fails_is_a_row_that_says_so_and_no_question(long: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "set"
    with JudgeServer(picture_script=player(LONG, faults=40, wrong=100, passing=4)) as server:
        keys = {**long, "model": named(server), "verify_with": verifiers(server), "pair_share": 1.0}
        build(out, **keys)
        before, asked, steps = whole(out), server.asked.total(), rows(out / "steps.jsonl")
        # A finished build asks nothing again but what the server refused.
        build(out, **keys)
        refused = [step for step in steps if str(step["reason"]).startswith("request refused")]
        assert whole(out) == before and server.asked.total() - asked == len(refused) > 0
    counts, by_rule = facts_of(out)["counts"], check_set(out)
    assert set(by_rule) == {"adjacent_unlinked", "adjacent_linked", "path", "disconnected", "absent", "absent_goal"}
    assert set(counts["rejected"]) == {
        "a verifying model answered otherwise",
        "a verifying model gave no usable answer",
    }
    assert counts["kept"] == sum(by_rule.values()) == counts["candidates"] - sum(counts["rejected"].values())
    failed = [step for step in steps if step["reply"] is None]
    assert 0 < len(failed) < len(steps) / 10
    assert {step["reason"].partition(":")[0] for step in failed} == {"unreadable reply", "request refused (400)"}
    undecided = {(step["take"], step["about"]) for step in failed if " > " in step["about"]}
    questions = rows(out / QUESTIONS)
    assert undecided and all(
        one["rule"] == "path"
        for one in questions
        if (one["clip"].removesuffix(".mp4"), f"{one['action']} > {one['outcome']}") in undecided
    )
    unanswered = {step["about"] for step in failed if step["role"].startswith("verifying")}
    assert unanswered and not unanswered & {question["id"] for question in questions}
    # A pair whose link was not decided is no link either.
    for graph in rows(out / GRAPHS):
        known = {f"{link['cause']} > {link['effect']}" for link in (*graph["links"], *graph["unlinked"])}
        assert not {(graph["clip"].removesuffix(".mp4"), pair) for pair in known} & undecided
    # What the proposals hold that cannot be used is noted beside them.
    problems = {step["problem"] for step in steps if step["role"] == "absent" and step["reply"]}
    assert problems == {"unusable: 2 is an action of the video; 3 is there before; 5 is no action"}


def test_a_time_out_is_a_row_that_says_so(short: dict[str, Any], tmp_path: Path) -> None:
    play = player(SHORT)

    def script(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        slow = role_of(prompt) == "critic" and material_of(prompt)["cause"] == "A01"
        return Hold() if slow else play(prompt, pictures, before)

    out = tmp_path / "set"
    with JudgeServer(picture_script=script) as server:
        build(out, **short, model=named(server, timeout=0.5, requests=2))
    failed = [step for step in rows(out / "steps.jsonl") if step["reply"] is None]
    assert {(step["role"], step["about"], step["reason"]) for step in failed} == {("critic", "A01 > A03", "timed out")}
    check_set(out)
    assert {link["cause"] for graph in rows(out / GRAPHS) for link in graph["links"]} == {"A00", "A04"}
    # A00 may yet lead to A03, by A01, which nobody can tell.
    asked = {(question["action"], question["outcome"]) for question in rows(out / QUESTIONS)}
    assert not asked & {("A01", "A03"), ("A00", "A03")}


def test_keys_that_do_not_fit_are_refused(
    long: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    annotations, said = long["annotations"], []
    (links,) = annotations
    for keys in (
        {}, {"model": "none"}, {"rephrase": True, "links": links}, {"naive": True, "links": links},
        {"naive": True, "links": links, "model": "m"}, {"links": links, "drop_solved_by": ["m"]},
        {"links": links, "frames": 2000, "candidates": 0, "colour": "red", "seed": "x"},
    ):  # fmt: skip
        said.append(f"{', '.join(keys)}\n{refusal(build, tmp_path / 'set', annotations, **keys)}")
    expected("\n\n".join([*said, refusal(build, tmp_path / "set", seed=1)]))
    assert not (tmp_path / "set").exists()


def test_a_build_that_fails_or_makes_less_leaves_the_set_whole(
    short: dict[str, Any], tmp_path: Path, expected: Expected
) -> None:
    out, play, said = tmp_path / "set", player(SHORT), []
    with JudgeServer(picture_script=play) as server:
        build(out, **short, model=named(server))
        before = whole(out)
        server.picture_script = lambda *_: Fail(500)
        said.append(refusal(build, out, **short, model=named(server, "down", requests=1)))
        assert whole(out) == before
        assert {path.name for path in (out / "failed").iterdir()} == set(FILES)
        server.picture_script = lambda prompt, *more: Fail(500) if "task 0" in prompt else play(prompt, *more)
        said.append(refusal(build, out, **short, model=named(server, "flaky", requests=1)))
        assert whole(out) == before
        build(out, **short, model=named(server, "flaky", requests=1), replace=True)
    expected("\n\n".join(said))
    assert whole(out) != before
    check_set(out)


def draw_take(number: int, actions: int = 2) -> Take:
    timed = (TimedAction(f"A{place:02d}", place, None, f"does it {place} times", "C") for place in range(actions))
    return Take(f"t{number}", f"t{number}.mp4", "cooking", tuple(timed))


def test_links_of_takes_are_found_and_every_reply_has_its_line(tmp_path: Path) -> None:
    def script(prompt: str, before: int) -> Say:
        """Forgets the second pair, and finds every pair a link."""
        if role_of(prompt) == "observer":
            numbers = [one["pair"] for one in material_of(prompt)["pairs"] if one["pair"] != 2]
            return Say(json.dumps({"confidences": [{"pair": number, "confidence": 1 / number} for number in numbers]}))
        replies: dict[str, dict[str, Any]] = {
            "verifier": {"conditions": "", "effect_without_cause": False, "common_cause": "", "confidence": 0.5}
            | {"explained_by_common_cause": False},
            "critic": {"objections": "", "sound": True, "confidence": 0.5},
            "synthesizer": {"reason": "", "causal": True},
        }
        return Say(json.dumps(replies[role_of(prompt)]), delay=0.05)

    lines: list[dict[str, Any]] = []
    takes = [draw_take(0), draw_take(1, actions=1), draw_take(2, actions=10)]
    with JudgeServer(script) as server:
        config = CounterVqaConfig.model_validate({"model": named(server), "pair_share": 0.05})
        chosen, judged = run_steps(
            [choose_pairs.given(config), judge_pairs],
            [TakeRow(id=take.uid, take=take) for take in takes],
            Models(config, tmp_path),
            lambda step, row, outcome: lines.extend(log_lines(step, row, outcome)),
        )
        # The pairs of a take are judged several at once.
        assert server.most_at_once == 4
    # Of 43 pairs with a confidence three go on, the surest of each part.
    links = {"t0": (("A00", "A01"),), "t2": (("A00", "A01"), ("A00", "A03"), ("A06", "A08"))}
    assert {row.id: row.links for row in judged.left} == {
        uid: TakeLinks(pairs, frozenset()) for uid, pairs in links.items()
    }
    assert [(row.id, row.seen, row.unsure) for row in chosen.left] == [("t0", 1, 0), ("t2", 45, 2)]
    assert chosen.removed == {"no links": 1}
    assert [(line["role"], line["about"], line["problem"]) for line in lines[:6]] == [
        ("observer", "pairs 1 to 1", None),
        ("observer", "pairs 1 to 40", "no one confidence for the pairs 2"),
        ("observer", "pairs 41 to 45", "no one confidence for the pairs 2"),
        ("verifier", "A00 > A01", None),
        ("critic", "A00 > A01", None),
        ("synthesizer", "A00 > A01", None),
    ]
    assert (chosen.asked + judged.asked, chosen.unanswered + judged.unanswered) == (len(lines), 0) == (3 + 3 * 4, 0)


def as_sure(play: BuildPlayer) -> BuildPlayer:
    """A player whose observer is as sure of every pair."""

    def level(asked: Any, reply: dict[str, Any]) -> dict[str, Any]:
        return {"confidences": [{**one, "confidence": 0.5} for one in reply["confidences"]]}

    return replace(play, changes={("", "observer"): level})


def test_a_pair_that_the_observer_cut_is_not_a_pair_without_a_link(short: dict[str, Any], tmp_path: Path) -> None:
    fifth, every, again = (tmp_path / name for name in ("fifth", "every", "again"))
    with JudgeServer(picture_script=as_sure(player(SHORT))) as server:
        build(fifth, **short, model=named(server))
        build(every, **short, model=named(server), pair_share=1.0)
    assert facts_of(fifth)["counts"]["pairs"]["  that nobody judged"] == 4 * 12
    assert facts_of(every)["counts"]["pairs"]["  that nobody judged"] == 0
    # The links from 1 to 3 and from 4 to 5 are as sure as the first pairs, and were cut.
    for graph in rows(fifth / GRAPHS):
        assert graph["links"] == [{"cause": "A00", "effect": "A01"}]
        assert [(pair["cause"], pair["effect"]) for pair in graph["unlinked"]] == [("A00", "A02"), ("A00", "A03")]
    rules = {question["rule"] for question in rows(fifth / QUESTIONS)}
    assert rules == {"adjacent_linked", "absent", "absent_goal"}
    assert set(check_set(every)) >= {"adjacent_unlinked", "path", "disconnected"}
    # A set that gives its links to another gives what is not known of them.
    build(again, **short, links=fifth / GRAPHS)
    assert (again / GRAPHS).read_bytes() == (fifth / GRAPHS).read_bytes()
    # What the cut pairs would have been taken for: the set says that there is no chain where there is one.
    false = {
        "id": "x", "clip": "take-000.mp4", "level": 2, "interaction": "H2O", "question": "Would it?",
        "verdict": "yes", "explanation": "Yes. No chain.", "action": "A01", "outcome": "A03", "rule": "disconnected",
    }  # fmt: skip
    with (fifth / QUESTIONS).open("a") as file:
        file.write(json.dumps(false) + "\n")
    message = refusal(check_set, fifth)
    assert "`A01` and `A03` are disconnected only if pairs that nobody judged are none" in message


def test_level_three_asks_of_the_goal_that_the_model_finds_reached(
    short: dict[str, Any], tmp_path: Path, home: Path
) -> None:
    goals = {"task 0, done", "task 1, done", "task 2, done"}
    third = {}
    for reached in (True, False):
        out = tmp_path / str(reached)
        with JudgeServer(picture_script=player(SHORT, reached=reached)) as server:
            build(out, **short, model=named(server), own_rules=False)
        third[reached] = [question for question in rows(out / QUESTIONS) if question["level"] == 3]
    assert {one["goal"] for one in third[True]} == goals
    assert {(one["outcome"], one["rule"], one["verdict"]) for one in third[True]} == {(None, "absent_goal", "yes")}
    check_set(tmp_path / "True")
    prepare(tmp_path / "True")
    assert goals < set(load_table("countervqa", "test", require_clips=False)["outcome"])
    assert {(one["goal"], one["rule"]) for one in third[False]} == {(None, "absent")}
    problems = [step["problem"] for step in rows(tmp_path / "False" / "steps.jsonl") if step["role"] == "absent"]
    assert problems and all(problem.startswith("unusable: the goal is not reached; ") for problem in problems)


@pytest.mark.slow
def test_one_model_may_verify_twice(short: dict[str, Any], tmp_path: Path) -> None:
    play = player(SHORT)
    # Asked again, it says the opposite.
    change = {("", "verification"): lambda asked, reply: flip(asked, reply) if asked.before else reply}
    with JudgeServer(picture_script=replace(play, changes=change)) as server:
        one = named(server, "v", temperature=0.7)
        # The second build goes on from the replies of both.
        for _ in range(2):
            message = refusal(build, tmp_path / "set", **short, model=named(server), verify_with=[one, one])
            assert message.startswith("Expected at least one question to be kept")
            times = {server.asked[prompt] for prompt in server.asked if role_of(prompt) == "verification"}
            assert times == {2}
        server.picture_script = play
        twice = [named(server, "v"), named(server, "v")]
        warnings = build(tmp_path / "kept", **short, model=named(server), verify_with=twice).warnings
    assert any(warning.startswith("verify_with names v twice with temperature 0") for warning in warnings)


@pytest.mark.slow
def test_what_simpler_models_solve_is_dropped(short: dict[str, Any], tmp_path: Path) -> None:
    for uid in list(SHORT)[:3]:
        write_clip(tmp_path / "clips" / f"{uid}.mp4")
    with JudgeServer(picture_script=player(SHORT)) as server:
        keys = {**short, "clips": tmp_path / "clips", "frames": 2, "pair_share": 1.0, "model": named(server)}
        build(tmp_path / "set", **keys, drop_solved_by=[named(server, "small"), named(server, "tiny")])
        build(tmp_path / "all", **keys)
        shown = [body["messages"][-1]["content"] for body in server.bodies if body["model"] in ("small", "tiny")]
    kept, every = (rows(tmp_path / name / QUESTIONS) for name in ("set", "all"))
    # Both say yes to everything, and the fourth clip cannot be seen.
    unseen = [one["id"] for one in every if one["clip"] == "take-003.mp4"]
    assert [one["id"] for one in kept] == [
        one["id"] for one in every if one["verdict"] == "no" or one["id"] in unseen
    ]  # fmt: skip
    solved = len(every) - len(kept)
    assert facts_of(tmp_path / "set")["counts"]["rejected"] == {"simpler models solve it": solved}
    steps = rows(tmp_path / "set" / "steps.jsonl")
    asked = Counter(step["role"] for step in steps if step["role"].startswith("solving"))
    # The second is asked about what the first solved alone.
    assert asked == {"solving model 1 (small)": len(every), "solving model 2 (tiny)": solved}
    assert sum(step["reason"] == "the clip cannot be read" for step in steps) == len(unseen)
    assert len(shown) == len(every) + solved - len(unseen) and {len(content) for content in shown} == {1 + 2}
    assert {frozenset(material_of(content[0]["text"])) for content in shown} == {frozenset({"question", "frames"})}


def test_the_naive_baseline_writes_questions_from_the_annotations_alone(
    short: dict[str, Any], tmp_path: Path, home: Path, expected: Expected
) -> None:
    with JudgeServer(picture_script=player(SHORT)) as server:
        built = build(tmp_path / "set", **short, model=named(server), naive=True, candidates=1)
        assert {role_of(prompt) for prompt in server.asked} == {"naive"}
    # One question of each level and clip; the others name what is not there, or are one too many.
    questions = rows(tmp_path / "set" / QUESTIONS)
    assert Counter((one["level"], one["rule"]) for one in questions) == {(level, None): 4 for level in (1, 2, 3)}
    problems = {step["problem"] for step in rows(tmp_path / "set" / "steps.jsonl")}
    assert problems == {"unusable: 4 (outcome); 5 (goal); 6 (characters); 7 is one too many"}
    assert all(graph["links"] == graph["unlinked"] == [] for graph in rows(tmp_path / "set" / GRAPHS))
    assert check_set(tmp_path / "set") == {"no rule": 12}
    prepare(tmp_path / "set")
    assert load_table("countervqa", "test", require_clips=False)["outcome"].count("a meal") == 4
    # The paper's numbers, which are of another method, do not stand beside it.
    expected("\n".join(" | ".join(row) for table in built.tables for row in table.rows))
