"""`shared_vllm` on the real vLLM, run by the Python of an environment that has it: real_vllm.py JOB ANSWERS.

The job is JSON: the model's arguments, the batch size, and documents with what they show and ask. So are the answers:
what the model answered, what vLLM handed to its engine and found in its caches, and what its interface takes.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from pathlib import Path
from typing import Any

from lmms_eval.api.instance import Instance


def messages_of(doc: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [*doc["shown"], {"type": "text", "text": doc["question"]}]}]


def interface() -> dict[str, Any]:
    """What vLLM takes, by the names of tests/support/fake_vllm.py."""
    import vllm
    from vllm.engine.arg_utils import EngineArgs
    from vllm.inputs import TextPrompt

    arguments = {*inspect.signature(vllm.LLM).parameters, *(field.name for field in dataclasses.fields(EngineArgs))}
    defaults = vllm.SamplingParams()
    return {
        "version": vllm.__version__,
        "llm": sorted(arguments),
        "generate": list(inspect.signature(vllm.LLM.generate).parameters),
        "prompt": sorted(TextPrompt.__annotations__),
        "sampling": {
            name: getattr(defaults, name) for name in inspect.signature(vllm.SamplingParams).parameters
        },
    }  # fmt: skip


def note_inputs(client: Any) -> list[dict[str, list[dict[str, Any]]]]:
    """A list to which each prompt's clips and pictures are added: the name in vLLM's caches, and what was computed."""
    noted: list[dict[str, list[dict[str, Any]]]] = []
    processor = client.renderer.get_mm_processor()
    apply = processor.apply

    def note(*arguments: Any, **options: Any) -> Any:
        inputs = apply(*arguments, **options)
        noted.append(
            {
                kind: [
                    {"name": name, **({"found": True} if item is None else _times(item))}
                    for name, item in zip(inputs["mm_hashes"][kind], items, strict=True)
                ]
                for kind, items in inputs["mm_kwargs"].items()
            }
        )
        return inputs

    processor.apply = note
    return noted


def _times(item: Any) -> dict[str, Any]:
    data = {name: field.data for name, field in item.items() if name in ("second_per_grid_ts", "timestamps")}
    return {
        "found": False,
        **{name: getattr(value, "tolist", lambda value=value: value)() for name, value in data.items()},
    }


def counts(client: Any) -> dict[str, int]:
    """What vLLM counted in its caches: queries and hits, by item or by token."""
    wanted = ("mm_cache_queries", "mm_cache_hits", "prefix_cache_queries", "prefix_cache_hits")
    return {
        metric.name.removeprefix("vllm:"): int(metric.value)
        for metric in client.get_metrics()
        if metric.name.removeprefix("vllm:") in wanted
    }


def ask_alone(client: Any, prompts: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[str]:
    """Answers to prompts without our ids, one by one, each with empty caches."""
    from vllm import SamplingParams

    answers = []
    for prompt, sampling in prompts:
        client.reset_prefix_cache()
        client.reset_mm_cache()
        bare = {name: value for name, value in prompt.items() if name != "multi_modal_uuids"}
        (output,) = client.generate([bare], SamplingParams(**sampling), use_tqdm=False)
        answers.append(output.outputs[0].text)
    return answers


def main(job: dict[str, Any]) -> dict[str, Any]:
    from lmms_eval_tasks.models.shared_vllm import SharedVLLM

    model = SharedVLLM.create_from_arg_string(job["arguments"], {"batch_size": job["batch_size"]})
    docs = job["docs"]
    model.task_dict = {"t": {"test": docs}}
    requests = [
        Instance(
            "generate_until",
            ("", messages_of, {"until": []}, place, "t", "test"),
            0,
            {"task": "t", "doc_id": place, "repeats": 1},
        )
        for place in range(len(docs))
    ]
    sent: list[tuple[dict[str, Any], dict[str, Any]]] = []
    ask, noted = model._ask, note_inputs(model.client)
    model._ask = lambda prompts: sent.extend(prompts) or ask(prompts)
    answers = [result.text for result in model.generate_until(requests)]
    seen, counted = list(noted), counts(model.client)
    order = [[doc["question"] in prompt["prompt"] for doc in docs].index(True) for prompt, _ in sent]
    alone = dict(zip(order, ask_alone(model.client, sent), strict=True))
    return {
        "interface": interface(),
        "answers": answers,
        "alone": [alone.get(place, "") for place in range(len(docs))],
        "order": order,
        "inputs": seen,
        "counts": counted,
        "unanswered": sorted(item for _, item in model.unanswered),
    }


if __name__ == "__main__":
    source, out = map(Path, sys.argv[1:])
    found = main(json.loads(source.read_text(encoding="utf-8")))
    out.write_text(json.dumps(found, default=str), encoding="utf-8")
