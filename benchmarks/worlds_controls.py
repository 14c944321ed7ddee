"""What may and what may not answer the questions of Worlds? The controls of the README, on the prepared set.

Readers that know something of an item and not the clip answer its questions: the keys themselves, the text, the first
frame, the frame in the middle, the last second, and a graph of what was seen. Readers of text and frames are kernel
machines that are trained on four fifths of the scenes and asked about the rest, in turn: of each option they learn from
question, option and pixels together whether it is right. Chance is what a guess among the options scores. Of minimal
pairs that start alike it also counts whose first frames are equal to the last bit: of these no reader of the first
frame can have both right. Intervals are 95%, by the bootstrap over scenes. With --tiny the sample data is asked about.

Measured on two cores, 2026-11-26: on 312 scenes from the text alone none above chance; the graph is right on the
73.8% that are not marked: worlds/README.md has the controls.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
from measuring import Options, print_ratio

FOLDS = 5
DRAWS = 10_000
SIZE = (32, 24)
"""Width and height to which frames are made small for a reader."""

Item = dict[str, Any]


def options_of(item: Item) -> list[str]:
    """What a question may be answered with."""
    return list(item["options"]) or ["yes", "no"]


def right_option(item: Item) -> int:
    """The place of the right one."""
    return ascii_uppercase.index(item["answer"]) if item["options"] else ["yes", "no"].index(key_of(item))


def key_of(item: Item) -> str:
    """The key of a question that is answered with yes or no; A is that a clip is possible."""
    key = str(item["answer"])
    return {"A": "yes", "B": "no"}.get(key, key.lower())


@dataclass(frozen=True)
class Score:
    """How many of the questions are right, in percent, with its interval, and how many there are."""

    value: float
    low: float
    high: float
    items: int

    def __str__(self) -> str:
        """As the README has it."""
        return f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"


def score(right: Sequence[float], scenes: Sequence[str]) -> Score:
    """The mean, and its interval by the bootstrap over scenes."""
    names, places = np.unique(scenes, return_inverse=True)
    sums, counts = (np.bincount(places, weights=weights, minlength=len(names)) for weights in (right, None))
    drawn = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), size=DRAWS)
    means = 100 * (drawn @ sums) / (drawn @ counts)
    low, high = np.quantile(means, [0.025, 0.975])
    return Score(100 * float(np.mean(right)), float(low), float(high), len(right))


def learned(items: Sequence[Item], pixels: np.ndarray | None) -> list[float]:
    """Which questions a reader of the text, and of pixels where there are some, has right."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import GroupKFold
    from sklearn.svm import SVC

    asked = [(place, option) for place, item in enumerate(items) for option in range(len(options_of(item)))]
    texts = [f"{items[place]['question']} {options_of(items[place])[option]}" for place, option in asked]
    vectors = TfidfVectorizer(ngram_range=(1, 3), min_df=2 if len(items) > 50 else 1).fit_transform(texts)
    kernel = (vectors @ vectors.T).toarray()
    if pixels is not None:
        seen = pixels[[place for place, _ in asked]]
        distances = np.maximum(0, (seen**2).sum(1)[:, None] + (seen**2).sum(1) - 2 * seen @ seen.T)
        kernel *= 0.2 + np.exp(-distances / max(float(np.median(distances)), 1e-9))
    truth = np.array([option == right_option(items[place]) for place, option in asked])
    scenes = np.array([items[place]["scene"] for place, _ in asked])
    guesses = np.zeros(len(asked))
    for train, test in GroupKFold(min(FOLDS, len(set(scenes)))).split(kernel, truth, scenes):
        machine = SVC(kernel="precomputed", class_weight="balanced").fit(kernel[np.ix_(train, train)], truth[train])
        guesses[test] = machine.decision_function(kernel[np.ix_(test, train)])
    best: dict[int, tuple[float, int]] = {}
    for (place, option), guess in zip(asked, guesses, strict=True):
        best[place] = max(best.get(place, (-np.inf, 0)), (float(guess), -option))
    return [float(-best[place][1] == right_option(item)) for place, item in enumerate(items)]


def small(frames: Iterable[np.ndarray]) -> np.ndarray:
    """Frames made small, as numbers from 0 to 1."""
    import cv2

    return np.concatenate([cv2.resize(frame, SIZE, interpolation=cv2.INTER_AREA).ravel() for frame in frames]) / 255


def controls(items: Sequence[Item], folder: Path) -> dict[str, dict[str, Score]]:
    """Each task and each reader with its score."""
    table: dict[str, dict[str, Score]] = {}
    for task in dict.fromkeys(item["subset"] for item in items):
        asked = [item for item in items if item["subset"] == task]
        scenes = [item["scene"] for item in asked]
        first, middle, last = [], [], []
        for item in asked:
            clip = one_clip(folder / item["clip"])
            first.append(small(clip[:1]))
            middle.append(small(clip[[len(clip) // 2]]))
            last.append(small(clip[[-12, -6, -1]]))
        row = {
            "chance": score([1 / len(options_of(item)) for item in asked], scenes),
            "text": score(learned(asked, None), scenes),
            "first frame": score(learned(asked, np.array(first)), scenes),
            "middle frame": score(learned(asked, np.array(middle)), scenes),
            "last second": score(learned(asked, np.array(last)), scenes),
        }
        if any(item["seen"] for item in asked):
            row["graph of what was seen"] = score([float(item["seen"] == item["answer"]) for item in asked], scenes)
            row["not marked"] = score([float(item["marked"] == "plain") for item in asked], scenes)
        table[task] = row
    return table


_CLIPS: dict[Path, np.ndarray] = {}


def one_clip(path: Path) -> np.ndarray:
    """The frames of a clip, the last ones kept."""
    import av

    if path not in _CLIPS:
        while len(_CLIPS) > 8:
            _CLIPS.pop(next(iter(_CLIPS)))
        with av.open(str(path)) as container:
            _CLIPS[path] = np.array([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])
    return _CLIPS[path]


def equal_starts(items: Sequence[Item], folder: Path) -> tuple[int, int]:
    """Of the minimal pairs that start alike, how many have first frames that are equal to the last bit, and all."""
    pairs: dict[str, list[Path]] = {}
    for item in items:
        if item["subset"] == "minimal" and item["start"] == "same":
            pairs.setdefault(item["group_id"], []).append(folder / item["clip"])
    equal = sum(bool(np.array_equal(one_clip(one)[0], one_clip(other)[0])) for one, other in pairs.values())
    return equal, len(pairs)


def prepare_sample(folder: Path) -> None:
    """Prepare the sample data in a home of its own."""
    from typer.testing import CliRunner

    from lmms_eval_tasks.cli.app import app

    os.environ["LMMS_EVAL_TASKS_HOME"] = str(folder / "home")
    done = CliRunner().invoke(app, ["sample", "worlds", "--out", str(folder / "sample"), "--prepare"])
    if done.exit_code:
        raise SystemExit(done.output)


def main() -> None:
    """Print the table and, of each task, how far the text alone is from chance."""
    options = Options(__doc__)
    options.add_argument("--json", type=Path, help="also write the scores to this file")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as own:
        if chosen.tiny:
            prepare_sample(Path(own))
        from lmms_eval_tasks.api.release import clip_path, load_table

        items = list(load_table("worlds", "standard"))
        folder = clip_path("worlds", "").resolve()
        table = controls(items, folder)
        equal, pairs = equal_starts(items, folder)
    readers = list(dict.fromkeys(reader for row in table.values() for reader in row))
    print(f"| task | questions | {' | '.join(readers)} |")
    print(f"| --- | --- |{' --- |' * len(readers)}")
    for task, row in table.items():
        cells = [str(row[reader]) if reader in row else "" for reader in readers]
        print(f"| `worlds_{task}` | {row['chance'].items:,} | {' | '.join(cells)} |")
    print(f"minimal pairs that start alike: the first frames of {equal} of {pairs} are equal to the last bit")
    for task, row in table.items():
        print_ratio(row["text"].value / row["chance"].value, f"{task}, the text alone against chance")
    if chosen.json:
        scores = {task: {reader: vars(one) for reader, one in row.items()} for task, row in table.items()}
        chosen.json.write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
