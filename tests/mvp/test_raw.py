"""Preparing MVP from the downloads of its nine sources."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from expected import Expected
from mvp_downloads import CLIPS, LENGTHS, raw_option, write_annotations, write_downloads, write_episodes
from raw_releases import contents
from releases import write_clip
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.mvp.benchmark import SOURCES, prepare
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.clips import is_readable
from lmms_eval_tasks.utils.data.home import clip_path
from lmms_eval_tasks.utils.data.pictures import FrameCoder

pytestmark = pytest.mark.usefixtures("home")
MADE = ("intphys", "language_table", "ssv2")
Raw = dict[str, Path]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot and the nine downloads, which no test changes."""
    root = tmp_path_factory.mktemp("originals")
    write_annotations(root)
    write_downloads(root / "raw")
    return root


@pytest.fixture
def raw(originals: Path, tmp_path: Path) -> Raw:
    """The nine downloads, which a test can spoil."""
    shutil.copytree(originals / "raw", tmp_path / "raw")
    return {source: tmp_path / "raw" / source for source in SOURCES}


@pytest.fixture
def refusal(originals: Path) -> Callable[[str], str]:
    def refuse(option: str) -> str:
        with pytest.raises(InputError) as caught:
            prepare(None, str(originals / "snapshot"), raw=[option])
        return str(caught.value)

    return refuse


def webm(raw: Raw, number: int = 101) -> Path:
    return raw["ssv2"] / "20bn-something-something-v2" / f"{number}.webm"


def scene(raw: Raw, run: int = 1) -> Path:
    return raw["intphys"] / "dev" / "O1" / "01" / str(run) / "scene"


def test_nine_downloads_end_in_no_missing_clip(originals: Path, raw: Raw, home: Path) -> None:
    assert set(SOURCES) == set(CLIPS)
    steps: set[str] = set()
    snapshot = str(originals / "snapshot")
    facts = prepare(None, snapshot, raw=[raw_option(raw)], progress=lambda what, *_: steps.add(what))["mini"]
    assert (facts.clips, facts.missing) == (2 * len(SOURCES), ())
    assert {"finding episodes in files", "finding clips in downloads", "mini: placing clips"} < steps
    for source, paths in CLIPS.items():
        for path in paths:
            clip = clip_path("mvp", f"mini/{path}")
            assert is_readable(clip, whole=True) and clip.is_symlink() == (source not in MADE)
    video = raw["clevrer"] / "video_11000-12000" / "video_11003.mp4"
    assert clip_path("mvp", "mini/clevrer/video_11003.mp4").readlink() == video
    first = contents(home)
    # The folder of the clips themselves will do too.
    inside = {source: next(path for path in raw[source].iterdir()) for source in SOURCES if source != "clevrer"}
    entry = raw_option({**inside, "clevrer": raw["clevrer"]}).replace(",pt=", ", pt=")
    assert prepare(None, snapshot, raw=[entry])["mini"].missing == ()
    assert contents(home) == first


def test_what_is_missing_is_said_with_its_file_and_where_it_comes_from(
    originals: Path, raw: Raw, tmp_path: Path, hundred_columns: None, expected: Expected
) -> None:
    webm(raw, 102).unlink()
    shutil.rmtree(scene(raw, 2).parent)
    (raw["clevrer"] / "video_11000-12000" / "video_11003.mp4").unlink()
    shutil.rmtree(raw["language_table"] / "0.0.1")
    write_episodes(raw["language_table"] / "0.0.1", (4, *LENGTHS))
    (raw["language_table"] / "0.0.1" / "language_table-train.tfrecord-00000-of-00004").unlink()
    del raw["vinoground"], raw["pt"]
    # A source that is not given comes from the videos.
    for path in CLIPS["pt"]:
        write_clip(tmp_path / "videos" / path)
    arguments = [
        "--source",
        str(originals / "snapshot"),
        "--raw",
        raw_option(raw),
        "--videos",
        str(tmp_path / "videos"),
    ]
    result = CliRunner().invoke(app, ["prepare", "mvp", *arguments])
    assert result.exit_code == 0, result.output
    _, heading, table = result.output.partition("Clips that are missing")
    assert max(map(len, result.output.splitlines()[:-1])) <= 100
    expected(heading + table.rpartition("Prepared in")[0])


def test_faults_that_are_seen_before_any_clip_is_decoded(
    originals: Path, raw: Raw, tmp_path: Path, home: Path, refusal: Callable[[str], str], expected: Expected
) -> None:
    (tmp_path / "pt").mkdir()
    messages = [refusal(f"ssv=x,ssv2={tmp_path}/none,pt={tmp_path}/pt,pt={tmp_path}/pt,grasp=")]
    with pytest.raises(InputError) as caught:
        prepare(None, str(originals / "snapshot"))
    messages.append(str(caught.value))
    (scene(raw) / "scene_007.png").unlink()
    shard = raw["language_table"] / "0.0.1" / "language_table-train.tfrecord-00000-of-00003"
    shard.write_bytes(shard.read_bytes()[:1500])
    messages.append(re.sub(r"byte [\d,]+,", "byte N,", refusal(raw_option({**raw, "star": raw["grasp"]}))))
    # A pipe would be waited for, and a device has no end.
    linked, folder = raw["star"] / "Charades_v1_480" / "0A8CF.mp4", raw["grasp"] / "videos/level2/Gravity/1.mp4"
    for path in (webm(raw), linked, folder):
        path.unlink()
    os.mkfifo(webm(raw))
    linked.symlink_to("/dev/zero")
    folder.mkdir()
    shutil.rmtree(scene(raw))
    scene(raw).write_bytes(b"")
    del raw["language_table"]
    messages.append(refusal(raw_option(raw)))
    expected("\n".join(messages))
    assert not home.exists()


def conversions(originals: Path, raw: Raw, monkeypatch: pytest.MonkeyPatch, split: str = "mini") -> int:
    """Prepare to the end; how many clips are converted for it."""
    begun: list[Path] = []
    enter = FrameCoder.__enter__
    with monkeypatch.context() as patched:
        patched.setattr(FrameCoder, "__enter__", lambda coder: (begun.append(coder._path), enter(coder))[1])
        assert prepare(None, str(originals / "snapshot"), split, [raw_option(raw)])[split].missing == ()
    return len(begun)


@pytest.mark.slow
def test_what_cannot_be_decoded_leaves_what_was_there_and_what_was_converted_serves_the_other_split(
    originals: Path,
    raw: Raw,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    refusal: Callable[[str], str],
    expected: Expected,
) -> None:
    prepare(None, str(originals / "snapshot"), raw=[raw_option({"grasp": raw["grasp"]})])
    before = contents(home / "mvp")
    spoilt = {webm(raw): 40, scene(raw, 2) / "scene_100.png": 0}
    whole = {path: path.read_bytes() for path in spoilt}
    for path, size in spoilt.items():
        path.write_bytes(whole[path][:size])
    expected(refusal(raw_option(raw)))
    assert contents(home / "mvp") == before
    for path, content in whole.items():
        path.write_bytes(content)
    assert conversions(originals, raw, monkeypatch) == 2
    assert conversions(originals, raw, monkeypatch, "full") == 0
    mini, full = (clip_path("mvp", f"{split}/ssv2/101.mp4") for split in ("mini", "full"))
    assert mini.samefile(full)


KILLED = """
import os, signal, sys, threading
from pathlib import Path
from lmms_eval_tasks.mvp.benchmark import prepare
from lmms_eval_tasks.utils.core import files
from lmms_eval_tasks.utils.data.pictures import FrameCoder

def kill_after(owner, name, calls):
    method, lock, count = getattr(owner, name), threading.Lock(), [0]
    def counting(*arguments, **options):
        value = method(*arguments, **options)
        with lock:
            count[0] += 1
            if count[0] == calls:
                os.kill(os.getpid(), signal.SIGKILL)
        return value
    setattr(owner, name, counting)

snapshot, raw = sys.argv[1:]
# While frames are coded; when a file is written, but not whole; and when two clips are finished.
for owner, name, calls in ((FrameCoder, "add", 5), (FrameCoder, "write", 1), (files, "put_part", 2)):
    child = os.fork()
    if child == 0:
        kill_after(owner, name, calls)
        prepare(None, snapshot, raw=[raw])
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(len(list(Path(os.environ["LMMS_EVAL_TASKS_HOME"]).rglob(".*.part"))))
"""


@pytest.mark.slow
def test_kills_lose_nothing(originals: Path, raw: Raw, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six clips are made; what a killed run finished of them is the same file in the end."""
    prepare(None, str(originals / "snapshot"), raw=[raw_option(raw)])
    whole = contents(home)
    shutil.rmtree(home)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(originals / "snapshot"), raw_option(raw)],
        env=dict(os.environ), capture_output=True, text=True, check=True,
    )  # fmt: skip
    statuses, parts = killed.stdout.split()[::2], killed.stdout.split()[1::2]
    assert statuses == [str(-signal.SIGKILL)] * 3, killed.stderr
    assert int(parts[1]) >= 1
    videos = home / ".mvp.building" / "videos"
    kept = {path: path.stat().st_ino for path in videos.rglob("*.mp4") if not path.is_symlink()}
    assert len(kept) >= 2 and not (home / "mvp").exists()
    assert conversions(originals, raw, monkeypatch) == 6 - len(kept)
    assert contents(home) == whole
    places = {home / "mvp" / "videos" / path.relative_to(videos): inode for path, inode in kept.items()}
    assert {path: path.stat().st_ino for path in places} == places
