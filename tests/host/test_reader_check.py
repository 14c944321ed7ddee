"""`check --model`: a clip decoded by the reader of a model of lmms-eval, and what is wrong with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from clip_libraries import write_broken_torchcodec
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.preview.inputs import check_reader
from lmms_eval_tasks.utils.core.errors import InputError

pytestmark = pytest.mark.slow  # decodes with every reader, and loads our models

CODE = "import sys; from lmms_eval_tasks.cli.app import app; app(sys.argv[1:])"


def check(*arguments: str, **variables: str) -> tuple[int, str, str]:
    """Exit status, stdout in one line and stderr of `check` in a process of its own."""
    environment = {**os.environ, "COLUMNS": "200", "HF_HUB_OFFLINE": "1", **variables}
    done = subprocess.run(
        [sys.executable, "-c", CODE, "check", *arguments], env=environment, capture_output=True, text=True
    )
    return done.returncode, " ".join(done.stdout.split()), done.stderr


def test_a_clip_is_read_as_the_model_will_read_it(home: Path, tmp_path: Path) -> None:
    broken = str(write_broken_torchcodec(tmp_path / "packages"))
    _, out, _ = check(
        "--model", "qwen2_5_vl", "--model_args", "pretrained=none/such,max_num_frames=6", PYTHONPATH=broken
    )
    assert "The model qwen2_5_vl reads clips by qwen-vl-utils: pyav in place of torchcodec." in out
    assert "6 of 16 frames of a black clip.mp4 decoded by pyav in " in out
    assert "torchcodec, which cannot be used here (RuntimeError: Could not load libtorchcodec)" in out
    assert "known hazard: clip_reader_replaced" in out and "Nothing here would stop a run." not in out


def test_a_choice_that_cannot_be_used_would_stop_a_run(home: Path, tmp_path: Path) -> None:
    broken = str(write_broken_torchcodec(tmp_path / "packages"))
    status, out, err = check("--model", "qwen2_5_vl", PYTHONPATH=broken, FORCE_QWENVL_VIDEO_READER="torchcodec")
    assert status == 1 and "reads clips by" not in out
    assert "FORCE_QWENVL_VIDEO_READER is 'torchcodec', by which qwen-vl-utils cannot read clips here" in err


def test_models_that_cannot_be_tried(home: Path) -> None:
    with pytest.raises(InputError, match=r"Expected --model to be a model of lmms-eval, but got 'qwen2_5_v'"):
        check_reader("qwen2_5_v", "", [])
    with pytest.raises(InputError, match=r"The model sglang cannot be imported \(ModuleNotFoundError: No module named"):
        check_reader("sglang", "", [])
    assert check_reader("replay", "", []).result == "it looks at no clip."
    assert check_reader("huggingface", "", []).reader is None


def test_our_own_models_read_what_is_prepared(home: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["sample", "--out", str(tmp_path / "sample"), "--prepare"])
    assert result.exit_code == 0
    checked = check_reader("shared_prefix", "max_num_frames=4", ["causalvqa"])
    assert checked.reader == "PyAV" and checked.result.startswith(
        "4 of 24 frames of debug_0000.mp4 decoded by PyAV in "
    )
