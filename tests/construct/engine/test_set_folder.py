"""A set that takes the place of an earlier one: whole or not at all, also where a build is killed meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refusal

from lmms_eval_tasks.construct.engine.set_folder import refuse_smaller, replacing_set
from lmms_eval_tasks.utils.core.errors import InputError

NAMES = ("steps", "counts.json", "extra.json", "release")


class Killed(BaseException):
    """What stands for a kill: nothing catches it."""


def write(folder: Path, text: str, extra: bool = False) -> None:
    for name in ("steps", "release"):
        (folder / name).mkdir()
        (folder / name / f"{text}.txt").write_text(text)
    (folder / "counts.json").write_text(text)
    if extra:
        (folder / "extra.json").write_text(text)


def made(out: Path) -> dict[str, str]:
    files = (path for path in out.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(out).as_posix(): path.read_text() for path in files}


def whole(text: str) -> dict[str, str]:
    return {f"steps/{text}.txt": text, "counts.json": text, f"release/{text}.txt": text, "replies/1.json": "kept"}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    with replacing_set(tmp_path / "out", NAMES) as folder:
        write(folder, "old", extra=True)
    (tmp_path / "out/replies").mkdir()
    (tmp_path / "out/replies/1.json").write_text("kept")
    return tmp_path / "out"


def test_a_set_replaces_another_with_all_its_parts_and_nothing_else(out: Path) -> None:
    with replacing_set(out, NAMES) as folder:
        write(folder, "new")
        assert made(out)["release/old.txt"] == "old"
    assert made(out) == whole("new")
    assert {path.name for path in out.iterdir()} <= {*NAMES, "replies", ".set.lock"}


def test_a_build_that_fails_leaves_the_set_and_what_it_wrote_itself(out: Path) -> None:
    for text in ("one", "two"):
        with pytest.raises(InputError), replacing_set(out, NAMES) as folder:
            write(folder, text)
            raise InputError("nothing is left")
    failed = {f"failed/{name}": text for name, text in whole("two").items() if not name.startswith("replies")}
    assert made(out) == {**whole("old"), "extra.json": "old", **failed}
    with pytest.raises(RuntimeError), replacing_set(out, NAMES) as folder:
        write(folder, "three")
        raise RuntimeError
    assert not list(out.glob(".new-*")) and made(out)["release/old.txt"] == "old"
    with replacing_set(out, NAMES) as folder:
        write(folder, "new")
    assert made(out) == whole("new")


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
    moves = 0
    while killed_after(moves, out, f"set{moves}"):
        # What the next build finds is one set, the old one or the new one, and nothing of both.
        with pytest.raises(InputError), replacing_set(out, NAMES):
            found = made(out)
            raise InputError("")
        parts = {name.partition(".")[0].rpartition("/")[2] for name in found if name.startswith(("steps/", "release/"))}
        assert len(parts) == 1 and found["counts.json"] in parts
        assert ("extra.json" in found) == (parts == {"old"})
        moves += 1
    assert moves > 5 and made(out) == whole(f"set{moves}")


def test_a_smaller_set_is_refused(tmp_path: Path) -> None:
    refuse_smaller(tmp_path, 6, 6, "")
    assert "holds a set of 6 rows, and this build made 5" in refusal(refuse_smaller, tmp_path, 6, 5, "")
    assert "a set that does not say its size" in refusal(refuse_smaller, tmp_path, None, 1, "")
