"""`sample_solver`: answers the sample world's questions from the pixels of its clips."""

from __future__ import annotations

from lmms_eval_tasks.models.base import Request, RequestModel
from lmms_eval_tasks.sample.solve.solver import solve


class SampleSolver(RequestModel):
    """Decodes each clip, tracks what moves in it and reasons from the tracks; of use on sample data only."""

    shows_clips = True

    def answer(self, request: Request) -> str:
        """The solver's response to the item's question about its clip: with evidence where the question asks for it."""
        return solve(request.doc["question"], request.doc["options"], request.clips[0])
