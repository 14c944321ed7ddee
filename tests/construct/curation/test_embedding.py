"""Vectors of clips by tiny vision models with random weights, and pairs mined from them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from numbered_clips import write_numbered
from shown_progress import ShownProgress
from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, ViTConfig, ViTImageProcessor, ViTModel
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.curation.vectors import SCALE, VisionModel, as_parquet, embed_clips, read_vectors
from lmms_eval_tasks.utils.core.errors import InputError

SIZE = {"height": 32, "width": 32}
LAYER = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.fixture(scope="module")
def vit(tmp_path_factory: pytest.TempPathFactory) -> str:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("vit")
    ViTModel(ViTConfig(image_size=32, patch_size=8, **LAYER)).save_pretrained(folder)
    ViTImageProcessor(size=SIZE).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def clip_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("clip")
    vision, text = {"image_size": 32, "patch_size": 8, **LAYER}, {"vocab_size": 99, **LAYER}
    CLIPModel(CLIPConfig(vision_config=vision, text_config=text, projection_dim=12)).save_pretrained(folder)
    CLIPImageProcessor(size=SIZE, crop_size=SIZE).save_pretrained(folder)
    return str(folder)


def test_a_clip_has_the_mean_of_its_frames_unit_vectors(vit: str, clip_model: str) -> None:
    model = VisionModel(vit)
    frames = np.random.default_rng(0).integers(0, 256, (3, 40, 48, 3), dtype=np.uint8)
    alone = [model.embed(frame[None]) for frame in frames]
    assert all(np.linalg.norm(vector) == pytest.approx(1) for vector in alone)
    np.testing.assert_allclose(model.embed(frames), np.mean(alone, axis=0), atol=1e-5)
    assert model.embed(frames).shape == (16,)
    with pytest.raises(InputError, match=r"The vision model .* cannot be loaded"):
        VisionModel(f"{vit}/none")
    # A model of pictures and texts gives the features of its pictures.
    assert VisionModel(clip_model).embed(frames).shape == (12,)


def test_vectors_can_be_read_again_and_clips_that_cannot_be_decoded_are_all_named(vit: str, tmp_path: Path) -> None:
    paths = {name: write_numbered(tmp_path / name, 12 + place) for place, name in enumerate(("a.mp4", "b.mp4"))}
    progress = ShownProgress()
    vectors = embed_clips(VisionModel(vit), paths, progress)
    assert progress.counted() == {"Clips": 2}
    file = tmp_path / "clips.parquet"
    file.write_bytes(as_parquet(vectors))
    read = read_vectors(file, None, ["b.mp4", "a.mp4"])
    units = [vectors[name] / np.linalg.norm(vectors[name]) for name in ("b.mp4", "a.mp4")]
    np.testing.assert_allclose(read / SCALE, units, atol=1e-6)
    for name in ("a.mp4", "b.mp4"):
        (tmp_path / name).write_bytes(b"none")
    with pytest.raises(InputError) as refused:
        embed_clips(VisionModel(vit), {**paths, "gone.mp4": tmp_path / "gone.mp4"})
    assert all(name in str(refused.value) for name in (*paths, "gone.mp4"))


def test_the_commands_go_from_clips_to_pairs(vit: str, tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    with (tmp_path / "candidates.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["item_id", "clip", "question", "answer"])
        for place, answer in enumerate(("yes", "no", "yes", "no")):
            write_numbered(tmp_path / "videos" / f"{place}.mp4", 12 + 6 * (place // 2))
            table.writerow([f"item-{place}", f"{place}.mp4", "Does it end?", answer])
    source, vectors, out = (str(tmp_path / name) for name in ("candidates.csv", "clips.parquet", "pairs.jsonl"))
    run = CliRunner().invoke
    unnamed = run(app, ["mine", "embed", source, "--model", vit, "--out", vectors])
    assert unnamed.exit_code == 1 and "Expected --clips" in unnamed.output
    embedded = run(
        app, ["mine", "embed", source, "--clips", str(tmp_path / "videos"), "--model", vit, "--out", vectors]
    )
    assert embedded.exit_code == 0 and "4 clips, 16 dimensions" in embedded.output, embedded.output
    all_vectors = str(tmp_path / "all.parquet")
    below = run(app, ["mine", "embed", str(tmp_path), "--model", vit, "--out", all_vectors])
    assert below.exit_code == 0, below.output
    named = read_vectors(Path(all_vectors), None, [f"videos/{place}.mp4" for place in range(4)])
    assert np.array_equal(named, read_vectors(Path(vectors), None, [f"{place}.mp4" for place in range(4)]))
    (tmp_path / "none").mkdir()
    none = run(app, ["mine", "embed", str(tmp_path / "none"), "--model", vit, "--out", all_vectors])
    assert none.exit_code == 1 and "holds no video" in none.output
    mined = run(app, ["mine", "pairs", source, "--embeddings", vectors, "--out", out])
    assert mined.exit_code == 0, mined.output
    pairs = [json.loads(line) for line in Path(out).read_text(encoding="utf-8").splitlines()]
    # Clips of the same frames look most alike.
    assert sorted((pair["clip_1"], pair["clip_2"]) for pair in pairs) == [("0.mp4", "1.mp4"), ("2.mp4", "3.mp4")]
