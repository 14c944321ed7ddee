"""A set that takes the place of an earlier one: whole or not at all, also where a build is killed meanwhile."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from refusals import refusal

from lmms_eval_tasks.construct.engine.set_folder import refuse_smaller, replacing_set
from lmms_eval_tasks.utils.core.errors import InputError

NAMES = ("steps", "counts.json", "extra.json", "release")


class Killed(BaseException):
    """What stands for a kill: nothing catches it."""


def write(folder: Path, text: str, *files: str) -> None:
    for name in (f"steps/{text}", f"release/{text}", "counts.json", *files):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def made(out: Path) -> dict[str, str]:
    files = (path for path in out.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(out).as_posix(): path.read_text() for path in files}


def whole(text: str, *files: str) -> dict[str, str]:
    return dict.fromkeys((f"steps/{text}", "counts.json", f"release/{text}", *files), text) | {"replies/1": "kept"}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    with replacing_set(tmp_path, NAMES) as folder:
        write(folder, "old", "extra.json")
    (tmp_path / "replies").mkdir()
    (tmp_path / "replies/1").write_text("kept")
    return tmp_path


def test_a_build_that_fails_leaves_the_set_and_what_it_wrote_itself_and_one_that_does_not_replaces_all(
    out: Path,
) -> None:
    for text in ("one", "two"):
        with pytest.raises(InputError), replacing_set(out, NAMES) as folder:
            write(folder, text)
            raise InputError("nothing is left")
    failed = {f"failed/{name}": text for name, text in whole("two").items() if not name.startswith("replies")}
    assert made(out) == {**whole("old", "extra.json"), **failed}
    with pytest.raises(RuntimeError), replacing_set(out, NAMES) as folder:
        write(folder, "three")
        raise RuntimeError
    assert not list(out.glob(".new-*")) and made(out)["release/old"] == "old"
    with replacing_set(out, NAMES) as folder:
        write(folder, "new")
        assert made(out)["release/old"] == "old"
    assert made(out) == whole("new")
    assert {path.name for path in out.iterdir()} <= {*NAMES, "replies", ".set.lock"}


def killed_after(moves: int, out: Path, text: str) -> bool:
    """Whether a build was killed after so many moves; else it ended before."""
    move, left = Path.replace, iter(range(moves))

    def count(self: Path, target: Path) -> Path:
        if next(left, None) is None:
            raise Killed
        return move(self, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", count)
        try:
            with replacing_set(out, NAMES) as folder:
                write(folder, text)
        except Killed:
            return True
    return False


def test_a_kill_at_any_move_leaves_one_set_to_the_next_build(out: Path) -> None:
    for moves in count():
        if not killed_after(moves, out, f"set{moves}"):
            break
        # What the next build finds is one set, the old one or the new one, and nothing of both.
        with pytest.raises(InputError), replacing_set(out, NAMES):
            found = made(out)
            raise InputError("")
        parts = {name.partition("/")[2] for name in found if name.startswith(("steps/", "release/"))}
        assert len(parts) == 1 and found["counts.json"] in parts and ("extra.json" in found) == (parts == {"old"})
    assert moves > 5 and made(out) == whole(f"set{moves}")


def test_a_smaller_set_is_refused(tmp_path: Path) -> None:
    def kept(facts: dict[str, int]) -> int:
        return facts["kept"]

    (tmp_path / "six.json").write_text('{"kept": 6}')
    refuse_smaller(tmp_path, "six.json", kept, 6, "")
    said = refusal(refuse_smaller, tmp_path, "six.json", kept, 5, "")
    assert "holds a set of 6 rows, and this build made 5" in said
    assert "a set that does not say its size" in refusal(refuse_smaller, tmp_path, "none.json", kept, 1, "")
