"""A stand-in for all models that a build asks: it answers from the truth of the sample data, and knows nothing else.

    lmms-eval-tasks sample causalvqa --out world
    python examples/stub_server.py world/causalvqa/build &
    lmms-eval-tasks build causalvqa --config world/causalvqa/build/build.yaml --out built

It serves OpenAI's protocol at $LLM_JUDGE_URL, else at http://localhost:8000/v1, where a build looks for a local model
that has no address. The truth is in the release that lies beside a build's folder. Roles are told apart by how their
prompts begin.
"""

from __future__ import annotations

import argparse
import base64
import csv
import itertools
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

MODEL = "stub"
ADDRESS = os.environ.get("LLM_JUDGE_URL") or "http://localhost:8000/v1"

Given = Mapping[str, Any]
"""What a prompt is about: the JSON object that stands in it."""


def material_of(prompt: str) -> dict[str, Any]:
    """The JSON object that a prompt holds; it begins a line."""
    material: dict[str, Any] = json.JSONDecoder().raw_decode(prompt, prompt.index("\n{") + 1)[0]
    return material


def read_request(body: Mapping[str, Any]) -> tuple[str, tuple[bytes, ...]]:
    """The prompt of a request, and its pictures as JPEG files."""
    # A request for an embedding has a text and no messages.
    content = body["input"] if "input" in body else body["messages"][-1]["content"]
    if isinstance(content, str):
        return content, ()
    urls = [part["image_url"]["url"] for part in content[1:]]
    return content[0]["text"], tuple(base64.b64decode(url.partition(",")[2]) for url in urls)


def completion(text: str, model: str = MODEL) -> str:
    """The body of a reply with a text."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]})


class Player:
    """Plays all roles of one benchmark's build.

    A role is a method: it is given what the prompt is about, and returns an object for JSON, or a text.
    """

    roles: ClassVar[Mapping[str, str]]
    """How the prompts of a role begin, and the role's method."""

    def __init__(self, truth: Mapping[str, Any]) -> None:
        self.truth = truth

    @staticmethod
    def read_truth(sample: Path) -> dict[str, Any]:
        """What the player has to know, from the benchmark's folder of the sample."""
        return {}

    @classmethod
    def role_of(cls, prompt: str) -> str:
        """Which role a prompt is for."""
        return next(role for start, role in cls.roles.items() if prompt.startswith(start))

    def reply(self, prompt: str) -> Any:
        """What the role of a prompt says to it."""
        return getattr(self, self.role_of(prompt))(material_of(prompt))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, one a line."""
    return list(map(json.loads, path.read_text(encoding="utf-8").splitlines()))


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_text(reply: Any) -> str:
    """A reply as a model writes it."""
    return reply if isinstance(reply, str) else json.dumps(reply)


class CausalVqaPlayer(Player):
    """Knows each question, its options and their other wordings."""

    roles: ClassVar = {
        "You describe a clip": "describe",
        "You describe what follows": "describe",
        "You answer a question about a clip that you see": "first_answer",
        "You think of wrong answers": "seeds",
        "You put a question and its answer into plain English": "wording",
        "You compare two wordings": "meaning",
        "You make the wrong options": "distractors",
        "You look for options that say the same": "synonyms",
        "You put the wrong options of a question into other words": "paraphrase",
        "You check paraphrases": "paraphrased",
        "You answer a multiple-choice question without the clip": "blind",
        "You repair": "repair",
    }

    @staticmethod
    def read_truth(sample: Path) -> dict[str, Any]:
        from lmms_eval_tasks.sample.scripts import reworded

        released = {row["renamed_video"]: row for row in read_table(sample / "CausalVQA/debug/debug_metadata.csv")}
        questions: list[dict[str, Any]] = []
        for annotated in read_table(sample / "build/annotations.csv"):
            row = released[annotated["clip"]]
            options = [option.partition(". ")[2] for option in row["choices1"].split("|")]
            true = {"question": row["question"], "answer": options.pop(int(row["correct1"]) - 1)}
            # Common sense is enough for one of them.
            more = {"distractors": options, "guessed": not questions}
            questions.append({"annotated": annotated["question"], **true, **more})
        texts = {text for one in questions for text in (one["answer"], *one["distractors"])}
        return {"questions": questions, "wordings": {text: reworded(text) for text in texts | {*map(reworded, texts)}}}

    def question_of(self, given: Given) -> dict[str, Any]:
        """The true question that a prompt is about, as an annotator put it or as it should be."""
        asked = given["first"]["question"] if "first" in given else given["question"]
        known = {one[name]: one for one in self.truth["questions"] for name in ("question", "annotated")}
        return next(one for text, one in known.items() if text in asked)

    def reworded(self, text: str) -> str:
        """An option in its other wording; any other text as it is."""
        return str(self.truth["wordings"].get(text, text))

    def describe(self, given: Given) -> Any:
        return {"description": f"A table from above, {given['seconds']} seconds."}

    def first_answer(self, given: Given) -> Any:
        return {"answer": self.question_of(given)["distractors"][0], "rationale": "It lies in the middle of the table."}

    def seeds(self, given: Given) -> Any:
        return {"distractors": self.question_of(given)["distractors"][::-1]}

    def wording(self, given: Given) -> Any:
        true = self.question_of(given)
        return {"similarity": 0, "question": true["question"], "answer": true["answer"]}

    def meaning(self, given: Given) -> Any:
        same = self.question_of(given)["question"] in given["second"]["question"]
        return {"same": same, "difference": "" if same else "It asks something else."}

    def distractors(self, given: Given) -> Any:
        return {"distractors": list(self.question_of(given)["distractors"])}

    def synonyms(self, given: Given) -> Any:
        options = list(given["options"].items())
        return {
            "same": [
                [int(one), int(other)]
                for place, (one, text) in enumerate(options)
                for other, later in options[place + 1 :]
                if later in (text, self.reworded(text))
            ]
        }

    def paraphrase(self, given: Given) -> Any:
        return {"paraphrases": [self.reworded(text) for text in given["options"]]}

    def paraphrased(self, given: Given) -> Any:
        return {"changed": []}

    def blind(self, given: Given) -> str:
        """Right in the first version at most, but for a question that can be guessed."""
        true, letters = self.question_of(given), list(given["options"])
        key = next(place for place, text in enumerate(given["options"].values()) if text == true["answer"])
        second = not set(true["distractors"]) & set(given["options"].values())
        letter = letters[(key + (second and not true["guessed"])) % len(letters)]
        return f"It is usual, unlike B. Answer: {letter} END"

    def repair(self, given: Given) -> Any:
        return {name: given[name] for name in ("question", "answer", "distractors", "paraphrases")}


class MvpPlayer(Player):
    """Reads from a note about a clip to which pair it belongs, and the pair's question."""

    roles: ClassVar = {
        "You choose contrasts": "contrast",
        "You write a question": "question",
        "You check the candidates": "exclusion",
        "You see one frame": "single_frame",
    }

    def contrast(self, given: Given) -> Any:
        _, pair, _ = self.parts_of(given["description"])
        return {"contrasts": [other["id"] for other in given["others"] if self.parts_of(other["text"])[1] == pair]}

    def question(self, given: Given) -> Any:
        (first, _, question), (second, _, _) = (self.parts_of(given[name]) for name in ("first", "second"))
        return {"question": f"{question}?", "first": first, "second": second}

    @staticmethod
    def parts_of(note: str) -> tuple[str, str, str]:
        """The answer, the number of the pair, and the question without its mark."""
        answer, _, rest = note.partition(". Asked for, of take ")
        pair, _, question = rest.partition(": ")
        return answer, pair, question

    def exclusion(self, given: Given) -> Any:
        return {"same_meaning": False, "both_can_hold": False, "gives_away": False}

    def single_frame(self, given: Given) -> str:
        # Who cannot tell guesses the same of both clips, which have other answers.
        return "A END"


class CounterVqaPlayer(Player):
    """Knows the links between the actions of a take."""

    roles: ClassVar = {
        "You look for causes": "observer",
        "You test whether": "verifier",
        "You criticise": "critic",
        "You decide": "synthesizer",
        "You think of actions": "absent",
        "You put a question": "rephrase",
        "You answer a question": "verification",
        "You write questions": "naive",
        "You see frames": "solving",
    }

    @staticmethod
    def read_truth(sample: Path) -> dict[str, Any]:
        takes = [
            {
                "actions": [action["text"] for action in graph["actions"]],
                "links": [(link["cause"], link["effect"]) for link in graph["links"]],
            }
            for graph in read_lines(sample / "graphs.jsonl")
        ]
        return {"takes": takes}

    def __init__(self, truth: Mapping[str, Any]) -> None:
        super().__init__(truth)
        self._links = {tuple(take["actions"]): set(map(tuple, take["links"])) for take in truth["takes"]}

    def links_of(self, given: Given) -> set[tuple[str, str]]:
        """The linked actions of the take that a prompt is about, by their ids."""
        return self._links.get(tuple(action["text"] for action in given.get("actions", ())), set())

    def observer(self, given: Given) -> Any:
        links = self.links_of(given)
        sure = {entry["pair"]: (entry["first"], entry["second"]) in links for entry in given["pairs"]}
        return {"confidences": [{"pair": pair, "confidence": 0.9 if one else 0.1} for pair, one in sure.items()]}

    def verifier(self, given: Given) -> Any:
        return {
            "conditions": "as listed",
            "effect_without_cause": (given["cause"], given["effect"]) not in self.links_of(given),
            "common_cause": "",
            "explained_by_common_cause": False,
            "confidence": 0.8,
        }

    def critic(self, given: Given) -> Any:
        return {"objections": "", "sound": True, "confidence": 0.6}

    def synthesizer(self, given: Given) -> Any:
        return {"reason": "so it is", "causal": (given["cause"], given["effect"]) in self.links_of(given)}

    def absent(self, given: Given) -> Any:
        ids = [action["id"] for action in given["actions"]]
        texts = ("Somebody lifts the table.", "The light goes out.", "A bell rings.")
        actions = [{"text": text, "outcome": one} for text, one in zip(texts, ids, strict=False)]
        return {"goal": given["goal"] or f"{given['task']}, done", "reached": True, "actions": actions}

    def rephrase(self, given: Given) -> Any:
        return {"question": f"Say: {given['question']}"}

    def verification(self, given: Given) -> Any:
        """Yes unless there is a way along the links from the action that the question names first to the other."""
        links = self.links_of(given)
        supposed, _, asked = given["question"].partition(" had not happened, would ")
        first, second = (self._named(part, given["actions"]) for part in (supposed, asked))
        reached, ahead = set[str](), [first]
        while ahead:
            node = ahead.pop()
            new = {effect for cause, effect in links if cause == node} - reached
            reached |= new
            ahead += new
        return {"reason": "it follows", "answer": "no" if second in reached else "yes"}

    @staticmethod
    def _named(part: str, actions: Sequence[Given]) -> str | None:
        """The action that a part of a question names; the camera wearer and others are C and O in the annotations."""
        words = part.replace("the camera wearer", "C").replace("another person", "O")
        for action in actions:
            seconds = int(action["seconds"])
            if f"“{action['text'].rstrip('.')}”" in words:
                timed = f"(at {seconds // 60}:{seconds % 60:02d})"
                if "(at " not in words or timed in words:
                    return str(action["id"])
        return None

    def naive(self, given: Given) -> Any:
        """A question a level, right or not."""
        first, second, third = given["actions"][:3]

        def asked(cause: str, outcome: str) -> dict[str, str]:
            question = f"If “{cause.rstrip('.')}” had not happened, would {outcome} still have happened?"
            return {"question": question, "explanation": "Yes. So it is."}

        one, two = (asked(first["text"], f"“{other['text'].rstrip('.')}”") for other in (second, third))
        return {
            "questions": [
                {**one, "level": 1, "answer": "yes", "action": first["id"], "outcome": second["id"]},
                {**two, "level": 2, "answer": "no", "action": first["id"], "outcome": third["id"]},
                {
                    **asked("C sings", "a meal"),
                    "level": 3,
                    "answer": "yes",
                    "absent_action": "C sings.",
                    "goal": "a meal",
                },
            ]
        }

    def solving(self, given: Given) -> Any:
        return {"reason": "as seen", "answer": "yes"}


class CastBenchPlayer(Player):
    """Knows the questions about each clip, and what the instances are called."""

    roles: ClassVar = {
        "You choose clips": "selection",
        "You describe how": "static",
        "You describe what": "dynamic",
        "You write questions": "questions",
        "You write a wrong answer from the words": "text",
        "You write a wrong answer from what": "video",
        "You compare answers": "exclusivity",
        "You change an answer": "near_miss",
        "You compare an answer with": "comparison",
        "You answer a question about a clip that": "blind",
        "You answer a question about a clip of": "masked",
    }
    text_distractor = "It comes in from the right."
    opposites: ClassVar = {"ball": "block", "block": "ball", "right": "left", "left": "right"}

    @staticmethod
    def read_truth(sample: Path) -> dict[str, Any]:
        tracks = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sample.glob("build/tracks/*")}
        names = {stem: {one["id"]: one["name"] for one in track["instances"]} for stem, track in sorted(tracks.items())}
        rows = defaultdict[str, list[dict[str, Any]]](list)
        for row in read_lines(sample / "castbench_hf.jsonl"):
            rows[Path(row["video"]).stem].append(row)
        return {"names": names, "rows": rows}

    def __init__(self, truth: Mapping[str, Any]) -> None:
        super().__init__(truth)
        self.colours = {name.split()[0] for names in truth["names"].values() for name in names.values()}

    def meaning(self, text: str) -> list[str]:
        """A text's words, in which texts of one meaning agree."""
        return re.findall(r"\w+", text.lower())

    def selection(self, given: Given) -> Any:
        faults = dict.fromkeys(("shaken", "whip_pans", "tilted", "badly_lit", "cut", "blurred"), False)
        return {"several_people_act_apart": True, **faults}

    def static(self, given: Given) -> Any:
        # Balls and blocks play the people of this world.
        name = given["name"]
        return {"category": name.split()[-1], "person": True, "description": f"A {name}."}

    def dynamic(self, given: Given) -> str:
        return f"[00:00]-[{given['last']}] It is on the table.\nEND"

    def questions(self, given: Given) -> Any:
        stem = self.clip_of(given)
        # As many as are asked for, so that one comes twice where the truth has fewer.
        rows = itertools.islice(itertools.cycle(self.truth["rows"][stem]), given["number"])
        return {"questions": [self._written(row, self.truth["names"][stem]) for row in rows]}

    def clip_of(self, given: Given) -> str:
        """The clip whose instances are described."""
        described = {(one["id"], one["description"]) for one in given["instances"]}
        for stem, names in self.truth["names"].items():
            if stem in self.truth["rows"] and described >= {(key, f"A {name}.") for key, name in names.items()}:
                return str(stem)
        raise ValueError(f"Expected the instances of a clip of the sample, but got {described}.")

    def _written(self, row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        """A released question as a model writes it; what is not there is put in for the answer's instance."""
        evidence = json.loads(row["evidence"])
        answer = row["options"][row["answer"]]
        right = next(name for name in names.values() if name in answer)
        other = next(name for name in names.values() if name != right and name not in row["question"])
        return {
            "question": row["question"],
            "subject": evidence[0]["SAV_instance_id"],
            "start": evidence[0]["evidence_start_time"],
            "end": evidence[0]["evidence_end_time"],
            "type": row["question_type"],
            "scene": row["scene_category"],
            "answer": answer,
            "evidence": [
                {
                    "instance": one["SAV_instance_id"],
                    "start": one["evidence_start_time"],
                    "end": one["evidence_end_time"],
                    "rationale": one["evidence_rationale"],
                }
                for one in evidence
            ],
            "video_distractor": answer.replace(right, other),
        }

    def text(self, given: Given) -> Any:
        return {"distractor": self.text_distractor}

    def video(self, given: Given) -> Any:
        return {"distractor": "It stays where it is."}

    def exclusivity(self, given: Given) -> Any:
        answers = given["answers"]
        names = list(answers)
        pairs = [(one, other) for place, one in enumerate(names) for other in names[:place]]
        clashes = [list(pair) for pair in pairs if self.meaning(answers[pair[0]]) == self.meaning(answers[pair[1]])]
        return {"clashes": clashes, "unnamed": []}

    def near_miss(self, given: Given) -> Any:
        """The shape of the object is another, or the side."""
        words = "|".join(self.opposites)
        changed = re.sub(rf"\b({words})\b", lambda match: self.opposites[match[1]], given["original"], count=1)
        return {"near_miss": changed}

    def comparison(self, given: Given) -> Any:
        one, other = self.meaning(given["original"]), self.meaning(given["changed"])
        differing = [first for first, second in zip(one, other, strict=False) if first != second]
        kinds = ["colour" if word in self.colours else "shape" for word in differing]
        same = [name for name, text in given["others"].items() if self.meaning(text) == other]
        return {"attributes": kinds, "same_as": [*same, *(["original"] if one == other else [])]}

    def blind(self, given: Given) -> Any:
        return {"choice": next(letter for letter, text in given["options"].items() if text == self.text_distractor)}

    def masked(self, given: Given) -> Any:
        return {"choice": next(letter for letter, text in given["options"].items() if "unable" in text.lower())}


PLAYERS: Mapping[str, type[Player]] = {
    "cast_bench": CastBenchPlayer,
    "causalvqa": CausalVqaPlayer,
    "countervqa": CounterVqaPlayer,
    "mvp": MvpPlayer,
}


def player_of(build: Path) -> Player:
    """The player of a benchmark, whose folder of the sample holds a build's."""
    sample = build.resolve().parent
    kind = PLAYERS[sample.name]
    return kind(kind.read_truth(sample))


class Server(ThreadingHTTPServer):
    """A server whose handlers end with it."""

    daemon_threads = True
    # Of more that come at once, the system lets some wait for a second.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what a handler raised, but for what a client's death does.

        A process that forks while this writes has a child that waits for ever to write.
        """
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class JsonHandler(BaseHTTPRequestHandler):
    """Answers with JSON, and logs nothing."""

    def answer(self, body: str, status: int = 200) -> None:
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


class PlayerHandler(JsonHandler):
    """Answers requests by a player."""

    player: ClassVar[Player]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(completion(as_text(self.player.reply(read_request(body)[0]))))


def main() -> None:
    """Serve until it is killed."""
    parser = argparse.ArgumentParser(description="Answer the requests of a build from the truth of the sample data.")
    parser.add_argument("folder", type=Path, help="the folder build of a benchmark in the sample")
    parser.add_argument("--url", default=ADDRESS, help="where to listen (default: %(default)s)")
    options = parser.parse_args()
    name = options.folder.resolve().parent.name
    if name not in PLAYERS:
        parser.error(f"Expected the folder build of {' or '.join(PLAYERS)} in a sample, but got {options.folder}.")
    address = urlsplit(options.url)
    with Server((address.hostname or "localhost", address.port or 80), PlayerHandler) as server:
        # A build that starts meanwhile waits for its replies and is not refused.
        PlayerHandler.player = player_of(options.folder)
        print(f"Playing all models of {name} at {options.url}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
