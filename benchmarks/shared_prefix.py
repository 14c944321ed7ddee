"""How long all questions about a clip take with `shared_prefix`, beside lmms-eval's own adapter on the same weights.

Each of the three runs in a process of its own, one after the other, on the same random weights, clips and questions,
and their answers have to be the same: lmms-eval's ``qwen2_5_vl``, `shared_prefix` in fast mode, and the lower bound,
which decodes, encodes and reads each clip once and computes nothing else but the questions' tokens and the new tokens
of their answers, for all questions of a clip at once, in a plain loop without `generate`. Clips are films of 2.1
million pixels a frame, which are decoded whole and shown small, so that they take time to decode. On a CPU times are
processor time, all threads together, so that other programs do not matter; with --cuda they are wall-clock time, for
Qwen2.5-VL-7B's shape in bfloat16. Memory is the peak of the process, or of the device.

Measured on two cores, 2026-11-26: 0.60 of its time with 2 questions a clip, 0.94 of the bound's, memory 0.85; with 6,
before questions were answered at once, 0.24. In Qwen2.5-VL-7B's shape with random weights, on one H200 (`--cuda`):
0.41 with 2 questions a clip and 0.17 with 6, 0.85 and 0.97 of the bound's time, memory 1.03 and 1.11, every answer
the same.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from measuring import Options, in_own_process, print_ratio

from lmms_eval_tasks.sample.drawn_clips import write_clip
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm

NEW_TOKENS = 8
FPS = 8
SCALE = 3
"""How many times as high and as wide a film is as it is shown."""
FILM = 5
"""How many times as many frames a film has as are shown."""
QUESTION = "Number {number}: which of these would have happened if the red box had not been there, {letters}?"
ARMS = ("host", "fast", "bound")
ROPE = {"rope_type": "default", "rope_theta": 1_000_000.0}
CPU = {
    "language": {
        "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 16, "num_attention_heads": 16,
        "num_key_value_heads": 4, "max_position_embeddings": 32768,
        "rope_parameters": {**ROPE, "mrope_section": [8, 12, 12]},
    },
    "vision": {
        "depth": 8, "hidden_size": 512, "intermediate_size": 1536, "num_heads": 8, "out_hidden_size": 1024,
        "fullatt_block_indexes": [3, 7],
    },
    "dtype": "float32",
}  # fmt: skip
CUDA = {
    "language": {
        "vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "max_position_embeddings": 128000,
        "rope_parameters": {**ROPE, "mrope_section": [16, 24, 24]},
    },
    "vision": {
        "depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584,
        "fullatt_block_indexes": [7, 15, 23, 31],
    },
    "dtype": "bfloat16",
}  # fmt: skip
"""The shape of Qwen2.5-VL-7B-Instruct, as its configuration has it."""


def shape_of(options: Any) -> tuple[int, int]:
    """Height and width of a frame."""
    height, width = map(int, options.size.split("x"))
    return height, width


def chat_of(doc: dict[str, str]) -> list[dict[str, Any]]:
    content = [{"type": "video", "url": doc["clip"]}, {"type": "text", "text": doc["question"]}]
    return [{"role": "user", "content": content}]


def make_requests(clips: Sequence[Path], questions: int) -> tuple[list[Any], dict[str, Any]]:
    """Questions of each clip that stand next to each other, as the benchmarks' do."""
    docs = [
        {"clip": str(clip), "question": QUESTION.format(number=number, letters="ABCDE"[: 2 + number % 4])}
        for clip in clips
        for number in range(questions)
    ]
    generation = {"max_new_tokens": NEW_TOKENS, "temperature": 0}
    requests = [
        SimpleNamespace(
            args=(doc["question"], chat_of, generation, place, "task", "test"),
            task_name="task",
            doc_id=place,
            metadata={},
        )
        for place, doc in enumerate(docs)
    ]
    return requests, {"task": {"test": docs}}


def load(arm: str, checkpoint: Path, options: Any) -> Any:
    """The model of one of the three."""
    cuda = options.cuda
    device, dtype = ("cuda", "bfloat16") if cuda else ("cpu", "float32")
    pixels = shape_of(options)[0] * shape_of(options)[1]
    sizes = {"max_num_frames": options.frames, "min_pixels": pixels, "max_pixels": pixels}
    if arm == "host":
        from lmms_eval.models.chat.qwen2_5_vl import Qwen2_5_VL

        model = Qwen2_5_VL(
            str(checkpoint), device=device, device_map=device, attn_implementation="sdpa", batch_size=1, **sizes
        )
        if not cuda:
            model._model = model._model.float()
        return model
    from lmms_eval_tasks.models.shared_prefix.model import SharedPrefix

    return SharedPrefix(
        pretrained=str(checkpoint),
        mode="fast",
        dtype=dtype,
        device=device,
        attn_implementation="sdpa",
        batch_size=options.batch,
        **sizes,
    )


def answer_bare(model: Any, requests: Sequence[Any]) -> list[str]:
    """The lower bound: read each clip once, and compute only the tokens of its questions and answers, all at once."""
    from lmms_eval_tasks.models.clip_reading import group_by_clip
    from lmms_eval_tasks.models.shared_prefix.sharing import SharedQuestion, join, width_of

    sharer, answers = model._sharer, [""] * len(requests)
    for group in group_by_clip(requests, model.task_dict):
        clip = sharer.encode(model.inputs.process([question.read() for question in group]))
        prefix = sharer.read_prefix(clip)
        rows = [SharedQuestion(clip, prefix, text) for text in clip.texts]
        filled = [sharer._fill(row, prefix.length, width_of(rows)) for row in rows]
        ids, masks, positions = (
            torch.cat(parts, dim=-2 if parts[0].ndim > 2 else 0) for parts in zip(*filled, strict=True)
        )
        cache, tokens = join([prefix] * len(rows)), []
        # What fills up a shorter question stands before its own tokens, so that the last is the last of all.
        step, places = ids[:, prefix.length :], positions[..., prefix.length :]
        with torch.no_grad():
            for _ in range(NEW_TOKENS):
                output = model.model(
                    input_ids=step, attention_mask=masks, position_ids=places, past_key_values=cache, use_cache=True,
                    logits_to_keep=1,
                )  # fmt: skip
                step = output.logits[:, -1:].argmax(-1)
                places, masks = places[..., -1:] + 1, torch.cat([masks, masks[:, -1:]], dim=-1)
                tokens.append(step)
        for question, row in zip(group, torch.cat(tokens, dim=1), strict=True):
            answers[question.place] = model._read_tokens(row).text
    return answers


def run_arm(arm: str, checkpoint: Path, clips: Sequence[Path], questions: int, options: Any) -> dict[str, Any]:
    """Answers, seconds, and peak memory in GB, of one of the three in this process."""
    model = load(arm, checkpoint, options)
    requests, model.task_dict = make_requests(clips, questions)
    ask: Callable[[Sequence[Any]], list[Any]] = model.generate_until
    if arm == "bound":
        ask = lambda some: answer_bare(model, some)  # noqa: E731
    if options.cuda:  # on a CPU nothing is chosen or compiled in the first call
        ask(requests[:questions])
        if arm != "host":
            model._sharer.work = type(model._sharer.work)()
    clock = time.perf_counter if options.cuda else time.process_time
    begun, begun_wall = clock(), time.perf_counter()
    answers = ask(requests)
    seconds, wall = clock() - begun, time.perf_counter() - begun_wall
    peak = (
        torch.cuda.max_memory_allocated() if options.cuda else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    )
    return {
        "answers": [getattr(answer, "text", answer) for answer in answers],
        "seconds": seconds,
        "wall": wall,
        "memory": peak / 1e9,
        "work": {} if arm == "host" else model.work,
    }


def main() -> None:
    parser = Options(__doc__)
    parser.add_argument("--cuda", action="store_true", help="Qwen2.5-VL-7B's shape on a GPU")
    parser.add_size("--questions", "2,6", "2", "questions a clip")
    parser.add_size("--frames", 16, 4)
    parser.add_size("--size", "420x560", "56x56", "height and width of a frame")
    parser.add_size("--clips", 2, 1)
    parser.add_argument("--batch", default="auto", help="questions that `shared_prefix` answers at once")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shape: Mapping[str, Any] = {} if options.tiny else CUDA if options.cuda else CPU
        # No network may run here before the processes of the three: threads do not outlive a fork.
        in_own_process(partial(write_tiny_vlm, folder / "model", **shape), cuda=options.cuda)
        height, width = shape_of(options)
        for number in range(options.clips):
            picture = np.random.default_rng(number).integers(0, 255, (height // 14, width // 14, 3), dtype=np.uint8)
            picture = picture.repeat(14 * SCALE, axis=0).repeat(14 * SCALE, axis=1)
            film = np.stack([np.roll(picture, 8 * step, axis=1) for step in range(options.frames * FILM)])
            write_clip(folder / f"{number}.mp4", film, FPS)
        for questions in map(int, options.questions.split(",")):
            compare(folder, questions, options)


def compare(folder: Path, questions: int, options: Any) -> None:
    """Run the three, and print what they took."""
    clips = sorted(folder.glob("*.mp4"))
    measured = {
        arm: in_own_process(run_arm, arm, folder / "model", clips, questions, options, cuda=options.cuda)
        for arm in ARMS
    }
    host, bound = measured["host"], measured["bound"]
    same = {arm: sum(map(str.__eq__, host["answers"], one["answers"])) for arm, one in measured.items()}
    count = len(host["answers"])
    print(f"\n{options.clips} clips of {options.frames} frames, {questions} questions each, {NEW_TOKENS} new tokens")
    for arm, one in measured.items():
        work = one["work"]
        stages = "  ".join(f"{stage} {seconds:.1f}" for stage, seconds in work.get("seconds", {}).items())
        print_ratio(
            one["seconds"] / host["seconds"],
            f"{arm} {one['seconds']:.1f} s, {one['seconds'] / bound['seconds']:.2f} of the bound, memory "
            f"{one['memory'] / host['memory']:.2f} of the host's, same answers {same[arm]}/{count}  {stages}",
        )
    assert options.cuda or set(same.values()) == {count}, "answers differ"


if __name__ == "__main__":
    main()
