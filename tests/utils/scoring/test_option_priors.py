"""How likely a text model finds options: the real path, with a model of a few thousand random weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_text_model import END, write_tiny_text_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.shortcuts import ChoiceItem, TextModel, prior_shortcuts, score_shortcut

pytestmark = pytest.mark.model

TEXTS = [("", " left"), ("", " to the right of it"), ("Question: which?\nAnswer:", " left"), ("a " * 30, " é — ü")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_text_model(tmp_path_factory.mktemp("model"))


def by_hand(folder: Path, context: str, text: str, longest: int = 128) -> float:
    """The sum, a forward pass over each text by itself."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    own = tokenizer(text)["input_ids"]
    tokens = ([tokenizer.convert_tokens_to_ids(END)] + tokenizer(context)["input_ids"] + own)[-longest:]
    with torch.no_grad():
        chances = model(torch.tensor([tokens])).logits[0].log_softmax(-1)
    first = max(len(tokens) - len(own), 1)
    return sum(float(chances[place - 1, tokens[place]]) for place in range(first, len(tokens)))


def test_sums_in_a_batch_are_those_of_each_text_alone(folder: Path, tmp_path: Path) -> None:
    sums = TextModel(str(folder)).log_probabilities(TEXTS * 2)
    assert list(sums) == sorted(TEXTS, key=lambda one: -len("".join(one).encode()))
    for (context, text), value in sums.items():
        assert value == pytest.approx(by_hand(folder, context, text), abs=1e-4)
    assert len({round(value, 3) for value in sums.values()}) == len(TEXTS)
    # What is too long loses its beginning.
    model = write_tiny_text_model(tmp_path, positions=16)
    texts = [("a long context: ", " left"), ("", " a text that is itself too long")]
    for (context, text), value in TextModel(str(model)).log_probabilities(texts).items():
        assert value == pytest.approx(by_hand(model, context, text, longest=16), abs=1e-4)
    with pytest.raises(InputError, match=r"^The text model .*nothing cannot be loaded: "):
        TextModel(str(tmp_path / "nothing"))
    endless = write_tiny_text_model(tmp_path / "endless", end=None)
    with pytest.raises(InputError, match=r"^Expected the text model .* to have a token that begins or ends a text\.$"):
        TextModel(str(endless))


def test_the_rules_choose_the_likelier_option(folder: Path) -> None:
    asked = {question: by_hand(folder, f"Question: {question}\nAnswer:", " left") for question in ("which?", "where?")}
    other = {question: by_hand(folder, f"Question: {question}\nAnswer:", " right") for question in asked}
    keys = {question: "left" if asked[question] > other[question] else "right" for question in asked}
    items = [
        ChoiceItem(question, (), question, options, options.index(keys[question]))
        for question in asked
        for options in (("left", "right"), ("right", "left"))
    ]
    unseen, after = prior_shortcuts(TextModel(str(folder)), items)
    score = score_shortcut(after, items, 2)
    assert score.single is not None and score.pair is not None
    assert (score.single.value, score.pair.value, score.decided) == (100.0, 100.0, 100.0)
    likelier = "left" if by_hand(folder, "", " left") > by_hand(folder, "", " right") else "right"
    for item, choice in zip(items, unseen.choose(items), strict=True):
        assert item.options[choice.index(1.0)] == likelier
