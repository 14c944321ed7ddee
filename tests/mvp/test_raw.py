from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
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


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot and the nine downloads, which no test changes."""
    root = tmp_path_factory.mktemp("originals")
    write_annotations(root)
    write_downloads(root / "raw")
    return root


@pytest.fixture
def raw(originals: Path, tmp_path: Path) -> dict[str, Path]:
    """The nine downloads, which a test can spoil."""
    shutil.copytree(originals / "raw", tmp_path / "raw")
    return {source: tmp_path / "raw" / source for source in SOURCES}


def refusal(originals: Path, tmp_path: Path, option: str) -> str:
    with pytest.raises(InputError) as caught:
        prepare(None, str(originals / "snapshot"), raw=[option])
    return str(caught.value).replace(str(tmp_path), "~")


def test_nine_downloads_end_in_no_missing_clip(originals: Path, raw: dict[str, Path], home: Path) -> None:
    assert set(SOURCES) == set(CLIPS)
    steps: set[str] = set()
    facts = prepare(
        None, str(originals / "snapshot"), raw=[raw_option(raw)], progress=lambda what, *_: steps.add(what)
    )["mini"]
    assert (facts.clips, facts.missing) == (2 * len(SOURCES), ())
    assert {"finding episodes in files", "finding clips in downloads", "mini: placing clips"} < steps
    for source, paths in CLIPS.items():
        for path in paths:
            clip = clip_path("mvp", f"mini/{path}")
            assert is_readable(clip, whole=True) and clip.is_symlink() == (source not in MADE)
    assert clip_path("mvp", "mini/clevrer/video_11003.mp4").readlink() == (
        raw["clevrer"] / "video_11000-12000" / "video_11003.mp4"
    )
    first = contents(home)
    prepare(None, str(originals / "snapshot"), raw=[raw_option(raw)])
    assert contents(home) == first


def test_the_folder_of_the_clips_themselves_will_do_too(originals: Path, raw: dict[str, Path]) -> None:
    inside = {source: next(path for path in raw[source].iterdir()) for source in SOURCES if source != "clevrer"}
    entries = [raw_option({**inside, "clevrer": raw["clevrer"]}).replace(",pt=", ", pt=")]
    assert prepare(None, str(originals / "snapshot"), raw=entries)["mini"].missing == ()


def test_sources_that_are_not_given_come_from_the_videos(originals: Path, raw: dict[str, Path], tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    for source in ("pt", "star", "ssv2"):
        for path in CLIPS[source]:
            write_clip(videos / path)
    some = {source: raw[source] for source in ("ssv2", "grasp")}
    facts = prepare(videos, str(originals / "snapshot"), raw=[raw_option(some)])["mini"]
    there = ("pt", "star", "ssv2", "grasp")
    expected = [f"mini/{path}" for source, paths in CLIPS.items() if source not in there for path in paths]
    assert sorted(entry.clip for entry in facts.missing) == sorted(expected)
    assert not clip_path("mvp", "mini/ssv2/101.mp4").is_symlink()


@pytest.mark.usefixtures("hundred_columns")
def test_one_table_says_what_is_missing_and_where_it_comes_from(originals: Path, raw: dict[str, Path]) -> None:
    (raw["ssv2"] / "20bn-something-something-v2" / "102.webm").unlink()
    shutil.rmtree(raw["intphys"] / "dev" / "O1" / "01" / "2")
    (raw["clevrer"] / "video_11000-12000" / "video_11003.mp4").unlink()
    del raw["vinoground"]
    arguments = ["prepare", "mvp", "--source", str(originals / "snapshot"), "--raw", raw_option(raw)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    _, heading, table = result.output.partition("Clips that are missing")
    assert heading and max(map(len, result.output.splitlines()[:-1])) <= 100
    rows = {line.split()[0]: " ".join(line.split()) for line in table.splitlines() if line.strip()}
    begins = {
        "clevrer": "1 video_11000-12000/video_11003.mp4 http://clevrer.csail.mit.edu",
        "intphys": "1 O1/01/2/scene https://intphys.cognitive-ml.fr",
        "ssv2": "1 102.webm https://www.qualcomm.com/developer/",
        "vinoground": "2 vinoground/0_pos.mp4, https://huggingface.co/datasets/",
    }
    assert all(rows[source].startswith(f"{source} {text}") for source, text in begins.items()), result.output
    assert rows.keys() & set(SOURCES) == begins.keys()


def test_an_episode_that_is_missing_names_its_file(originals: Path, raw: dict[str, Path]) -> None:
    folder = raw["language_table"] / "0.0.1"
    lengths = (4, *LENGTHS)
    shutil.rmtree(folder)
    write_episodes(folder, lengths)
    (folder / "language_table-train.tfrecord-00000-of-00004").unlink()
    facts = prepare(None, str(originals / "snapshot"), raw=[raw_option(raw)])["mini"]
    assert [(entry.clip, entry.reason, entry.file) for entry in facts.missing] == [
        ("mini/language_table/video_3.mp4", "absent", "language_table-train.tfrecord-00000-of-00004")
    ]


def test_all_that_is_wrong_with_the_option_is_said_at_once(originals: Path, tmp_path: Path, home: Path) -> None:
    (tmp_path / "pt").mkdir()
    option = f"ssv=x,ssv2={tmp_path}/none,pt={tmp_path}/pt,pt={tmp_path}/pt,grasp="
    assert refusal(originals, tmp_path, option) == (
        "MVP cannot be prepared: 4 problems, nothing was written.\n"
        "  --raw ssv=x: Expected one of pt, ssv2, language_table, intphys, inflevel, grasp, clevrer, star, vinoground, "
        "but got `ssv`. Did you mean ssv2?\n"
        "  --raw ssv2=~/none: Expected the folder of a download, but there is no folder ~/none.\n"
        "  --raw pt=~/pt: Expected each source once, but pt is ~/pt too.\n"
        "  --raw grasp=: Expected SOURCE=DIR, but got `grasp=`."
    )
    assert not home.exists()
    with pytest.raises(InputError, match=r"Expected a folder of videos \(--videos DIR\), unpacked downloads of their"):
        prepare(None, str(originals / "snapshot"))


def test_what_is_wrong_with_downloads_is_seen_before_any_is_decoded(
    originals: Path, raw: dict[str, Path], tmp_path: Path, home: Path
) -> None:
    (raw["intphys"] / "dev" / "O1" / "01" / "1" / "scene" / "scene_007.png").unlink()
    shard = raw["language_table"] / "0.0.1" / "language_table-train.tfrecord-00000-of-00003"
    shard.write_bytes(shard.read_bytes()[:1500])
    raw["star"] = raw["grasp"]
    message = refusal(originals, tmp_path, raw_option(raw))
    assert re.sub(r"byte [\d,]+,", "byte N,", message) == (
        "MVP, split mini, cannot be prepared: 3 problems, nothing was written.\n"
        "  ~/raw/language_table/0.0.1/language_table-train.tfrecord-00000-of-00003: Expected record 3 to end at byte "
        "N, but the file has 1,500 bytes: it was cut off. Remedy: copy it again, or delete it to go on without its "
        "episodes.\n"
        "  ~/raw/intphys/dev/O1/01/1/scene: Expected 100 pictures, scene_001.png to scene_100.png, but got 99 "
        "(without scene_007.png). Remedy: unpack the download again, or delete the folder to go on without this clip.\n"
        "  --raw star=~/raw/grasp: Expected files such as 0A8CF.mp4, 0BXRN.mp4 in it, but got none of 2. Remedy: give "
        "the folder that the download was unpacked to, of Charades, https://prior.allenai.org/projects/charades "
        "(Charades_v1_480.zip)."
    )
    assert not home.exists()


def test_only_files_are_clips(originals: Path, raw: dict[str, Path], tmp_path: Path, home: Path) -> None:
    """A pipe would be waited for, and a device has no end."""
    webm = raw["ssv2"] / "20bn-something-something-v2" / "101.webm"
    linked, scene = raw["star"] / "Charades_v1_480" / "0A8CF.mp4", raw["intphys"] / "dev" / "O1" / "01" / "1" / "scene"
    folder = raw["grasp"] / "videos" / "level2" / "Gravity" / "1.mp4"
    for path in (webm, linked, folder):
        path.unlink()
    shutil.rmtree(scene)
    os.mkfifo(webm)
    linked.symlink_to("/dev/zero")
    folder.mkdir()
    scene.write_bytes(b"")
    remedy = "Remedy: unpack the download again, or delete it to go on without this clip."
    message = refusal(originals, tmp_path, raw_option(raw))
    assert message.startswith("MVP, split mini, cannot be prepared: 4 problems, nothing was written.\n")
    for path in (webm, linked, folder):
        what = str(path).replace(str(tmp_path), "~")
        assert f"  {what}: Expected a regular file, but got something else. {remedy}" in message
    assert f"/O1/01/1/scene: Expected a folder, but got something else. {remedy}" in message
    assert not home.exists()


def test_what_cannot_be_decoded_is_said_at_once_and_leaves_what_was_there(
    originals: Path, raw: dict[str, Path], tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(None, str(originals / "snapshot"), raw=[raw_option({"grasp": raw["grasp"]})])
    before = contents(home / "mvp")
    webm = raw["ssv2"] / "20bn-something-something-v2" / "101.webm"
    whole = webm.read_bytes()
    webm.write_bytes(whole[:40])
    scene = raw["intphys"] / "dev" / "O1" / "01" / "2" / "scene" / "scene_100.png"
    picture = scene.read_bytes()
    scene.write_bytes(b"")
    assert refusal(originals, tmp_path, raw_option(raw)) == (
        "MVP, split mini, cannot be prepared: 2 problems, what was prepared before is untouched, and clips that are "
        "finished are kept for the next time.\n"
        "  ssv2: Expected ~/raw/ssv2/20bn-something-something-v2/101.webm to be a video, but it cannot be opened. "
        "Remedy: get it again, or delete it to go on without this clip.\n"
        "  ~/raw/intphys/dev/O1/01/2/scene: Expected scene_100.png to be a picture, but it cannot be decoded. "
        "Remedy: get it again, or delete it to go on without this clip."
    )
    assert contents(home / "mvp") == before
    webm.write_bytes(whole)
    scene.write_bytes(picture)
    assert conversions(originals, raw, monkeypatch) == 2


def test_what_was_converted_for_one_split_serves_the_other(
    originals: Path, raw: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert conversions(originals, raw, monkeypatch) == 6
    assert conversions(originals, raw, monkeypatch, "full") == 0
    mini, full = (clip_path("mvp", f"{split}/ssv2/101.mp4") for split in ("mini", "full"))
    assert mini.samefile(full)


def conversions(originals: Path, raw: dict[str, Path], monkeypatch: pytest.MonkeyPatch, split: str = "mini") -> int:
    """Prepare to the end; how many clips are converted for it."""
    begun: list[Path] = []
    enter = FrameCoder.__enter__
    with monkeypatch.context() as patched:
        patched.setattr(FrameCoder, "__enter__", lambda coder: (begun.append(coder._path), enter(coder))[1])
        assert prepare(None, str(originals / "snapshot"), split, [raw_option(raw)])[split].missing == ()
    return len(begun)


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
def test_kills_lose_nothing(originals: Path, raw: dict[str, Path], home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six clips are made; what a killed run finished of them is the same file in the end."""
    prepare(None, str(originals / "snapshot"), raw=[raw_option(raw)])
    whole = contents(home)
    shutil.rmtree(home)
    arguments = [str(originals / "snapshot"), raw_option(raw)]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments], env=dict(os.environ), capture_output=True, text=True, check=True
    )
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
