"""Shortcuts: rules that choose an option without a clip, a text model's preference among them, and their accuracy."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import first_line
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.scoring.bootstrap import Counts, Estimate, macro_interval

Choice = tuple[float, ...]
"""The chance of each option to be chosen; all 0 where nothing is."""


@dataclass(frozen=True)
class ChoiceItem:
    group: Hashable
    stratum: tuple[str, ...]
    question: str
    options: tuple[str, ...]
    key: int | None


@dataclass(frozen=True)
class Shortcut:
    name: str
    choose: Callable[[Sequence[ChoiceItem]], list[Choice]]


@dataclass(frozen=True)
class ShortcutScore:
    name: str
    decided: float
    single: Estimate | None
    pair: Estimate | None
    removed: float | None


def text_shortcuts(items: Sequence[ChoiceItem]) -> list[Shortcut]:
    """The rules that need no model, for items with options: each place, length, frequent answers, and overlap."""
    most = max((len(item.options) for item in items), default=0)
    return [
        *(Shortcut(f"always {letter}", _always(place)) for place, letter in enumerate(ascii_uppercase[:most])),
        Shortcut("longest option", _by_value(lambda item, option: len(option))),
        Shortcut("shortest option", _by_value(lambda item, option: -len(option))),
        FREQUENT_ANSWER,
        Shortcut("most like the question", _by_value(lambda item, option: shared_ngrams(option, item.question))),
        Shortcut("least like the question", _by_value(lambda item, option: -shared_ngrams(option, item.question))),
    ]


def constant_shortcuts(items: Sequence[ChoiceItem]) -> list[Shortcut]:
    """The rules for items whose options are the answers that occur: each of them always, and the most frequent."""
    answers = items[0].options if items else ()
    return [*(Shortcut(f"always {answer}", _always(place)) for place, answer in enumerate(answers)), FREQUENT_ANSWER]


def shared_ngrams(option: str, question: str) -> float:
    """The share of an option's words and pairs of adjacent words that the question has too, 0-1; 0 without words."""
    words, asked = (re.findall(r"\w+", text.casefold()) for text in (option, question))
    own = {*words, *pairwise(words)}
    return len(own & {*asked, *pairwise(asked)}) / len(own) if own else 0.0


def _always(place: int) -> Callable[[Sequence[ChoiceItem]], list[Choice]]:
    return lambda items: [tuple(float(at == place) for at in range(len(item.options))) for item in items]


def _by_value(value: Callable[[ChoiceItem, str], float]) -> Callable[[Sequence[ChoiceItem]], list[Choice]]:
    return lambda items: [_best([value(item, option) for option in item.options]) for item in items]


def _best(values: Sequence[float]) -> Choice:
    highest = max(values)
    best = [value == highest for value in values]
    return tuple(one / sum(best) for one in best)


def _most_frequent(items: Sequence[ChoiceItem]) -> list[Choice]:
    keys: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    own: defaultdict[tuple[Hashable, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    for item in items:
        if item.key is not None:
            text = plain_text(item.options[item.key])
            keys[item.stratum][text] += 1
            own[item.group, item.stratum][text] += 1

    def times(item: ChoiceItem, option: str) -> int:
        text = plain_text(option)
        return keys[item.stratum][text] - own[item.group, item.stratum][text]

    return _by_value(times)(items)


FREQUENT_ANSWER = Shortcut("most frequent answer", _most_frequent)
"""Of the item's options the one that is most often the key in the other groups of its stratum (leave one group out)."""


def plain_text(text: str) -> str:
    return " ".join(text.casefold().split())


def score_shortcut(shortcut: Shortcut, items: Sequence[ChoiceItem], together: int | None) -> ShortcutScore:
    """Score a rule on a set, with intervals over groups; `together` is how many items of a group count together."""
    choices = shortcut.choose(items)
    decided = 100.0 * sum(max(choice, default=0.0) == 1.0 for choice in choices) / len(items)
    groups = _grouped((item, choice) for item, choice in zip(items, choices, strict=True) if item.key is not None)
    single = [(100.0 * _expected_right(members), float(len(members))) for members in groups.values()]
    complete = [members for members in groups.values() if len(members) == together]
    pair = [(100.0 * _all_right(members), 1.0) for members in complete]
    removed = _removed(sum(map(_expected_right, complete)), pair, together)
    return ShortcutScore(shortcut.name, decided, _estimate(single), _estimate(pair), removed)


def chance(items: Sequence[ChoiceItem], together: int | None) -> ShortcutScore:
    """Return the score of guessing that chooses each option equally often and each item on its own."""
    known = [item for item in items if item.key is not None]
    groups: defaultdict[Hashable, list[float]] = defaultdict(list)
    for item in known:
        groups[item.group].append(1 / len(item.options))
    single = [(100.0 * sum(shares), float(len(shares))) for shares in groups.values()]
    complete = [shares for shares in groups.values() if len(shares) == together]
    pair = [(100.0 * math.prod(shares), 1.0) for shares in complete]
    removed = _removed(sum(map(sum, complete)), pair, together)
    return ShortcutScore("any, at random", 0.0, _exact(single), _exact(pair), removed)


def _grouped(chosen: Iterable[tuple[ChoiceItem, Choice]]) -> dict[Hashable, list[tuple[ChoiceItem, Choice]]]:
    groups: defaultdict[Hashable, list[tuple[ChoiceItem, Choice]]] = defaultdict(list)
    for item, choice in chosen:
        groups[item.group].append((item, choice))
    return groups


def _removed(right: float, pair: Sequence[Counts], together: int | None) -> float | None:
    """Percent of the right answers to members of complete groups that are in no group that is wholly right."""
    if not right or together is None:
        return None
    return 100.0 - together * sum(percent for percent, _ in pair) / right


def same_choice(shortcut: Shortcut, items: Sequence[ChoiceItem], together: int | None) -> float | None:
    """Percent of the groups of so many items in which a rule chooses the same text for all; None without a group."""
    groups = _grouped(zip(items, shortcut.choose(items), strict=True))
    shares = [_all_the_same(members) for members in groups.values() if len(members) == together]
    return 100.0 * sum(shares) / len(shares) if shares else None


def _expected_right(members: Sequence[tuple[ChoiceItem, Choice]]) -> float:
    return sum(choice[item.key] for item, choice in members if item.key is not None)


def _all_right(members: Sequence[tuple[ChoiceItem, Choice]]) -> float:
    """The chance that all members are right; those that cannot be told apart by their text get one choice."""
    chances = 1.0
    for alike in _alike(members):
        (first, choice), *_ = alike
        keys = {plain_text(item.options[item.key]) for item, _ in alike if item.key is not None}
        chances *= choice[first.key] if len(keys) == 1 and first.key is not None else 0.0
    return chances


def _all_the_same(members: Sequence[tuple[ChoiceItem, Choice]]) -> float:
    shares: list[defaultdict[str, float]] = []
    for (item, choice), *_ in _alike(members):
        shares.append(defaultdict(float))
        for option, chance_of in zip(item.options, choice, strict=True):
            shares[-1][plain_text(option)] += chance_of
    return sum(math.prod(share[text] for share in shares) for text in list(shares[0]))


def _alike(members: Sequence[tuple[ChoiceItem, Choice]]) -> list[list[tuple[ChoiceItem, Choice]]]:
    classes: defaultdict[Hashable, list[tuple[ChoiceItem, Choice]]] = defaultdict(list)
    for item, choice in members:
        texts = tuple(sorted(zip(map(plain_text, item.options), choice, strict=True)))
        classes[plain_text(item.question), texts].append((item, choice))
    return list(classes.values())


def _exact(contributions: Sequence[Counts]) -> Estimate | None:
    total = sum(count for _, count in contributions)
    value = sum(share for share, _ in contributions) / total if total else 0.0
    return Estimate(value, value, value, len(contributions)) if total else None


def _estimate(contributions: Sequence[Counts]) -> Estimate | None:
    score = _exact(contributions)
    if score is None:
        return None
    low, high = macro_interval([list(contributions)])
    return Estimate(score.value, low, high, score.groups)


CONTEXT = "Question: {question}\nAnswer:"
BATCH = 16

Continuation = tuple[str, str]
"""A context, empty where there is none, and the text that follows it."""


class TextModel:
    """A causal language model of transformers, by its name on the hub or the folder that it is in."""

    def __init__(self, name: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(name)
            # With fewer bits, a sum would depend on which other texts are in its batch.
            model: Any = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32)
        except Exception as error:  # whatever its many layers raise
            raise InputError(f"The text model {name} cannot be loaded: {first_line(error)}") from error
        starts = (self._tokenizer.bos_token_id, self._tokenizer.eos_token_id)
        start = next((token for token in starts if token is not None), None)
        if start is None:
            raise InputError(f"Expected the text model {name} to have a token that begins or ends a text.")
        self._start: int = start
        self._longest: int = getattr(model.config, "max_position_embeddings", None) or 1 << 20
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = model.to(self._device).eval()

    def log_probabilities(
        self, continuations: Iterable[Continuation], progress: Progress = no_progress
    ) -> dict[Continuation, float]:
        """The sum of the log-probabilities (natural, at most 0) of each distinct text's tokens after its context."""
        distinct = {one: self._tokens(*one) for one in dict.fromkeys(continuations)}
        # Of like length together, the longest first: what does not fit into memory fails at once.
        ordered = sorted(distinct, key=lambda one: -len(distinct[one][0]))
        sums: dict[Continuation, float] = {}
        for start in range(0, len(ordered), BATCH):
            batch = ordered[start : start + BATCH]
            sums.update(zip(batch, self._sum_batch([distinct[one] for one in batch]), strict=True))
            progress("text model: options", len(sums), len(ordered))
        return sums

    def _tokens(self, context: str, text: str) -> tuple[list[int], int]:
        before = self._tokenizer.encode(context, add_special_tokens=False) if context else []
        own = self._tokenizer.encode(text, add_special_tokens=False)
        tokens = [self._start, *before, *own][-self._longest :]
        return tokens, min(len(own), len(tokens) - 1)

    def _sum_batch(self, batch: Sequence[tuple[list[int], int]]) -> list[float]:
        import torch

        width = max(len(tokens) for tokens, _ in batch)
        padded = [tokens + [self._start] * (width - len(tokens)) for tokens, _ in batch]
        mask = [[1] * len(tokens) + [0] * (width - len(tokens)) for tokens, _ in batch]
        ids: torch.Tensor = torch.tensor(padded, device=self._device)
        with torch.inference_mode():
            logits = self._model(input_ids=ids, attention_mask=torch.tensor(mask, device=self._device)).logits
        sums = []
        for row, (tokens, own) in enumerate(batch):
            end = len(tokens)
            chances = logits[row, end - own - 1 : end - 1].float().log_softmax(-1)
            sums.append(float(chances.gather(-1, ids[row, end - own : end, None]).sum()))
        return sums


def prior_shortcuts(
    model: TextModel, items: Sequence[ChoiceItem], progress: Progress = no_progress
) -> tuple[Shortcut, Shortcut]:
    """The rules that choose the option a text model finds most likely: without the question, and after it."""
    contexts = {item.question: CONTEXT.format(question=item.question) for item in items}
    wanted = [
        (context, f" {option}")
        for item in items
        for context in ("", contexts[item.question])
        for option in item.options
    ]
    sums = model.log_probabilities(wanted, progress)
    return (
        Shortcut("likely, question unseen", _by_value(lambda _, option: sums["", f" {option}"])),
        Shortcut("likely after the question", _by_value(lambda item, one: sums[contexts[item.question], f" {one}"])),
    )
