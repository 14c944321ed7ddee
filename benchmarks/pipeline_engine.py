"""How long a step of a pipeline takes that asks a server once for each row, beside what the server's latency allows.

The server is a process of its own that answers each request after the latency. The bound is rows x latency / requests
in flight. Two rivals ask the same in the same run: the step's requests by the OpenAI client in threads, which keeps
nothing, and a second build, which finds every reply and asks nothing. Memory is that of the process that builds.

Measured on two cores, 2026-11-23: 1.19 to 1.23 of the bound, 115 MB; the client 1.25 to 1.30; a second build, which
finds every reply, 0.23 to 0.31.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from unittest import mock

import yaml
from measuring import Options, print_ratio

from lmms_eval_tasks.construct.engine import steps as asking_module
from lmms_eval_tasks.construct.engine.command import pipeline_command
from lmms_eval_tasks.construct.engine.config import BuildConfig
from lmms_eval_tasks.construct.engine.running import Pipeline
from lmms_eval_tasks.construct.engine.steps import Asking, Form, PipelineRow, step
from lmms_eval_tasks.utils.answers.hooks import Prompt

PROMPT = Prompt("describe", "You describe a number, in one sentence.\n{case}")
FILLING = "what is known of it " * 40


class Numbers(BuildConfig):
    """How many numbers are described."""

    rows: int


class NumberRow(PipelineRow):
    """A number and what is known of it."""

    number: int
    text: str = ""


class NumberDescription(Form):
    """The reply."""

    text: str


@step("descriptions", asks=("writer",), requests=1, characters=900, reply_tokens=20)
def describe_number(row: NumberRow, asking: Asking) -> NumberRow:
    """Asks once for each row."""
    reply = asking.ask("writer", "describe", NumberDescription, number=row.number, known=FILLING)
    return row.model_copy(update={"text": reply.text})


def write(rows: Sequence[NumberRow], folder: Path, config: Numbers) -> Sequence[str]:
    """The release: a line for each row."""
    (folder / "set.jsonl").write_text("".join(row.model_dump_json() + "\n" for row in rows))
    return []


PIPELINE = Pipeline(
    benchmark="numbers",
    config=Numbers,
    read=lambda config: [NumberRow(id=str(number), number=number) for number in range(config.rows)],
    source_files=lambda config: [],
    steps=lambda config: [describe_number],
    write=write,
    first="numbers",
)


def serve(latency: float, port: Connection) -> None:
    """Answer every request after a latency, however many there are at once."""
    message = {"role": "assistant", "content": json.dumps({"text": "a number among others"})}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "stub", "choices": [choice]})
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    reply = (head + body).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                fields = dict(line.split(b": ", 1) for line in request.lower().split(b"\r\n")[1:] if b": " in line)
                await reader.readexactly(int(fields[b"content-length"]))
                await asyncio.sleep(latency)
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=256)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def ask_plainly(url: str, rows: int, in_flight: int) -> None:
    """The rival: the same requests by the OpenAI client in threads."""
    from openai import OpenAI

    client = OpenAI(api_key="none", base_url=url, max_retries=0)

    def ask(number: int) -> str | None:
        text = PROMPT.render(case=json.dumps({"number": number, "known": FILLING}))
        reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
        return reply.choices[0].message.content

    with ThreadPoolExecutor(in_flight) as pool:
        list(pool.map(ask, range(rows)))


def main() -> None:
    """Print the times, the ratios to the bound, and the memory."""
    parser = Options(__doc__)
    parser.add_size("--rows", 5000, 40)
    parser.add_size("--in-flight", 32, 8, "requests at a time")
    parser.add_size("--latency", 0.05, 0.01, "seconds")
    arguments = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(arguments.latency, theirs), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"
    bound = arguments.rows * arguments.latency / arguments.in_flight
    build = pipeline_command(lambda: PIPELINE)
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(asking_module, "read_prompt", {"describe": PROMPT}.__getitem__),
    ):
        config = Path(folder) / "numbers.yaml"
        writer = {"provider": "local", "model": "m", "url": url, "concurrent": arguments.in_flight}
        config.write_text(yaml.safe_dump({"rows": arguments.rows, "roles": {"writer": writer}}))
        print(f"bound: {arguments.rows:,} x {arguments.latency} s / {arguments.in_flight} = {bound:.2f} s")
        for name in ("build", "second build"):
            start = time.perf_counter()
            built = build(config, Path(folder) / "out")
            taken = time.perf_counter() - start
            print_ratio(taken / bound, f"{name} {taken:.2f} s; {built.summary}")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        start = time.perf_counter()
        ask_plainly(url, arguments.rows, arguments.in_flight)
        taken = time.perf_counter() - start
        print_ratio(taken / bound, f"OpenAI client in threads, nothing kept: {taken:.2f} s")
        print(f"memory of the builds: {memory:.0f} MB")
    server.terminate()


if __name__ == "__main__":
    main()
