"""How likely a text model finds each option, with the question and without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.core.wording import first_line
from lmms_eval_tasks.utils.stats.shortcuts import ChoiceItem, Shortcut, valued_shortcut

if TYPE_CHECKING:
    import torch

CONTEXT = "Question: {question}\nAnswer:"
BATCH = 16

Continuation = tuple[str, str]
"""A context, empty where there is none, and the text that follows it."""


class TextModel:
    """A causal language model of transformers, by its name on the hub or the folder that it is in."""

    def __init__(self, name: str) -> None:
        """Load it, onto a GPU where there is one."""
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
        """The tokens of both, and how many at the end are the text's."""
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
        valued_shortcut("likely, question unseen", lambda item, option: sums["", f" {option}"]),
        valued_shortcut("likely after the question", lambda item, option: sums[contexts[item.question], f" {option}"]),
    )
