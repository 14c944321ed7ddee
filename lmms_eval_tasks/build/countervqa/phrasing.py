"""Questions and reference explanations by template."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from lmms_eval_tasks.build.countervqa.annotations import TimedAction

ACTORS = {"C": "the camera wearer", "O": "another person"}
LONGEST_CHAIN = 4


class Phrasing:
    """The words for the actions of one clip."""

    def __init__(self, actions: Sequence[TimedAction]) -> None:
        times = Counter(action.text for action in actions)
        self._names: Mapping[str, str] = {
            action.id: f"{quoted(action.text)} (at {clock(action.start)})"
            if times[action.text] > 1
            else quoted(action.text)
            for action in actions
        }

    def question(self, action: str, outcome: str) -> str:
        """Had an action of the clip not happened: would the outcome still have?"""
        return f"If {self._names[action]} had not happened, would {self._names[outcome]} still have happened?"

    def absent_question(self, text: str, outcome: str) -> str:
        """The same of an action that is not one of the clip."""
        return f"If {quoted(text)} had not happened, would {self._names[outcome]} still have happened?"

    def goal_question(self, text: str, goal: str) -> str:
        """Had an action that is not one of the clip not happened: would its main goal still have been reached?"""
        return f"If {quoted(text)} had not happened, would the main goal, {quoted(goal)}, still have been reached?"

    def unlinked(self, action: str, outcome: str) -> str:
        """Return the explanation of the answer yes if the outcome follows the action without a link."""
        return f"Yes. {self._names[outcome]} comes right after {self._names[action]}, and does not depend on it."

    def linked(self, action: str, outcome: str) -> str:
        """Return the explanation of the answer no if the action causes the outcome."""
        return f"No. {self._names[outcome]} depends on {self._names[action]}."

    def chain(self, actions: Sequence[str]) -> str:
        """Return the explanation of the answer no if a chain of causes leads from the first action to the last."""
        names = [self._names[action] for action in actions]
        if len(names) > LONGEST_CHAIN:
            names = [*names[: LONGEST_CHAIN - 2], f"{len(names) - LONGEST_CHAIN + 1} more actions", names[-1]]
        return f"No. {names[0]} leads to {', which leads to '.join(names[1:])}."

    def disconnected(self, action: str, outcome: str) -> str:
        """Return the explanation of the answer yes if no chain leads from the action to the outcome."""
        return f"Yes. No chain of causes leads from {self._names[action]} to {self._names[outcome]}."

    def absent(self, text: str, outcome: str) -> str:
        """Return the explanation of the answer yes if the action never happened."""
        return f"Yes. {quoted(text)} does not happen in the video, so {self._names[outcome]} does not depend on it."

    def absent_goal(self, text: str, goal: str) -> str:
        """The same of the main goal."""
        never = f"{quoted(text)} does not happen in the video"
        return f"Yes. {never}, so nothing is lost for the main goal, {quoted(goal)}."


def quoted(text: str) -> str:
    """A description in quotation marks, without its full stop; who acts is named in words."""
    text = text.rstrip(" .")
    name, space, rest = text.partition(" ")
    return f"“{ACTORS.get(name, name)}{space}{rest}”"


def clock(seconds: float) -> str:
    """A time as minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
