"""`sample_solver`: answers the sample world's questions from the pixels of its clips."""

from __future__ import annotations

import numpy as np

from lmms_eval_tasks.models.base import Request, RequestModel
from lmms_eval_tasks.sample.solver import CANNOT_TELL, solve, solve_frames
from lmms_eval_tasks.utils.answers.losses import ClipLosses
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm


class SampleSolver(RequestModel):
    """Decodes each clip, tracks what moves in it and reasons from the tracks; of use on sample data only."""

    answer_forms = frozenset({AnswerForm.WORDS, AnswerForm.CLIP_LOSSES})

    shows_clips = True

    def answer(self, request: Request) -> str:
        """The solver's response to the item's question about its clip: with evidence where the question asks for it."""
        question, options = request.doc["question"], request.doc["options"]
        if request.form is AnswerForm.CLIP_LOSSES:
            answers = [solve(question, options, clip) for clip in request.clips]
            if CANNOT_TELL in answers:
                return CANNOT_TELL
            first = ("A", options[0])
            return ClipLosses(losses=[float(answer.rstrip(".") not in first) for answer in answers]).to_json()
        if question in request.prompt and request.clips:
            return solve(question, options, request.clips[0])
        if question in request.prompt and request.pictures:
            return solve_frames(question, options, np.asarray(request.pictures[0])[None])
        return CANNOT_TELL
