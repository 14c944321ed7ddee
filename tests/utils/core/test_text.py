"""Texts in messages: arguments, quoted values, lists of names, secrets, and variables that mean nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st

import lmms_eval_tasks
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.core.text import (
    HIDDEN,
    KNOWN,
    describe_unknown_variables,
    hide_in_words,
    hide_secrets,
    parse_arguments,
    quote,
)

EVERY = {*KNOWN, *registry().variables}
SECRET = "abc-DEF_123456"


def test_arguments_are_texts_by_name_and_quoted_values_bounded() -> None:
    arguments: list[tuple[Any, dict[str, str]]] = [
        (None, {}), (" a = b c ,, url=http://host/?x=1 ,", {"a": "b c", "url": "http://host/?x=1"}),
        ("alone,a=", {"alone": "", "a": ""}), ("a=1,a=2", {"a": "2"}), ({"a": 1, "b": None}, {"a": "1", "b": "None"}),
    ]  # fmt: skip
    assert all(parse_arguments(given) == expected for given, expected in arguments)
    for value, quoted in (
        (" left\n", "`left`"), (None, "`null`"), ("a\x1b[31m\nb", r"`a\x1b[31m\nb`"), ("a" * 60, f"`{'a' * 60}`"),
        (["\x9b2J", "\ud800"], r'`["\x9b2J", "\ud800"]`'), ("a" * 61, f"`{'a' * 60}…`"),
    ):  # fmt: skip
        assert quote(value) == quoted


def test_a_misspelt_variable_is_named_with_the_nearest_and_others_are_not(expected: Expected) -> None:
    wrong = ["LMMS_EVAL_TASKS_PROMT", "LMMS_EVAL_TASKS_ANSWER", "LMMS_EVAL_TASK_HOME", "lmms_eval_tasks_missing"]
    wrong += ["LMMS_EVAL_TASKS_BOX", "LMMS_EVAL_TASKS_JUGDE"]
    expected("\n".join(describe_unknown_variables([*wrong, *EVERY, "PATH", "LMMS_EVAL_PLUGINS", "HF_HOME"], EVERY)))


def test_every_variable_that_the_package_names_is_known() -> None:
    sources = Path(lmms_eval_tasks.__file__).parent.rglob("*.py")
    named = {name for path in sources for name in re.findall(r"LMMS_EVAL_TASKS_[A-Z_]*[A-Z]", path.read_text("utf-8"))}
    assert named <= EVERY


NAMED = r"""
model_version=gpt,api_key=SECRET,max_frames_num=4
--openai_api_key SECRET --limit 4
--api-key=SECRET
--hf_hub_log_args ,output_path=out,token=SECRET
{"client_secret": "SECRET"}
OPENAI_API_KEY=SECRET lmms-eval
url=http://user:SECRET@host/v1,model=j
Authorization: Bearer SECRET
aws_secret_access_key=SECRET
pwd: SECRET
smtp_pass=SECRET
passphrase=SECRET
Authorization: Token SECRET
{'Authorization': 'Bearer SECRET'}
{"x-api-key": "SECRET"}
Ocp-Apim-Subscription-Key: SECRET
https://blob.example/v.mp4?se=2026&sig=SECRET
https://s3.example/v.mp4?X-Amz-Signature=SECRET
http://host/v1?access_token=SECRET&model=j
url=http://user:p@ssSECRET@host/v1,model=j
api_key='a b SECRET'
{"password": "with \"quotes\" SECRET"}
credentials=SECRET
hf_auth=SECRET
Cookie: SECRET
401: {'error': 'bad key', 'api_key': 'SECRET'}
""".strip().splitlines()
SHAPED = {
    "hf_": 34, "sk-": 40, "sk-proj-": 40, "AIza": 35, "AKIA": 16, "ASIA": 16, "ghp_": 36, "gho_": 36, "glpat-": 20,
    "gsk_": 52, "nvapi-": 64, "r8_": 37, "xoxb-111111111111-": 24, f"github_pat_{'I' * 22}_": 59,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.": 11,
}  # fmt: skip
NO_SECRETS = """
max_new_tokens=8,num_tokens=3,tokenizer=abc
add_bos_token=True
cluster_key=group_id
the monkey opens a door, key frames: 3
url=http://localhost:8000/v1,model=j
pretrained=Qwen/Qwen2.5-VL-7B-Instruct,max_num_frames=16
sort_key=time,compass=north,author: Ada
pass@1: 0.5; the pass was cleared; authors=3
the ball, a cup and a sign: all seen @ 3 s
https://example.org/a?b=c#d
""".strip().splitlines()


def test_keys_and_passwords_are_hidden_by_their_names_and_shapes_and_nothing_else_is() -> None:
    for text in NAMED:
        hidden = hide_secrets(text.replace("SECRET", SECRET), {})
        assert SECRET not in hidden and HIDDEN in hidden, text
    for beginning, length in SHAPED.items():
        assert hide_secrets(f"pretrained={beginning}{'Q' * length},x", {}) == f"pretrained={HIDDEN},x", beginning
    for text in NO_SECRETS:
        assert hide_secrets(text, {"HOME": "max", "SHORT_KEY": "a"}) == text
    here = {"PWD": "/home/user", "OLDPWD": "/home/user"}
    assert hide_secrets("in /home/user", here) == "in /home/user"


@settings(max_examples=50)
@given(st.text(), st.text(min_size=6), st.text())
def test_what_a_variable_holds_as_a_key_is_never_in_a_text(before: str, secret: str, after: str) -> None:
    for name in [
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "my_password",
        "KEYS",
        "API_TOKENS",
        "SMTP_PASS",
        "PROXY_AUTH",
        "DB_PWD",
    ]:
        hidden = hide_secrets(before + secret + after, {name: secret})
        # What is put in its place could hold it, or make it anew with what stands beside.
        assert secret not in hidden.replace(HIDDEN, "\0") or secret in before + "\0" + after


def test_keys_of_a_variable_are_hidden_one_by_one_as_they_are_written_and_after_an_option() -> None:
    text = hide_secrets("tried first-key-1 and second-key-2", {"API_KEYS": "first-key-1, second-key-2"})
    assert text == f"tried {HIDDEN} and {HIDDEN}"
    for written in ("p%40ss%2Fword%22", 'p@ss/word\\"'):
        assert hide_secrets(f"at {written}!", {"DB_PASSWORD": 'p@ss/word"'}) == f"at {HIDDEN}!"
    words = ["x", "--api_key", SECRET, "--model_args", f"a=b,token={SECRET}", "--limit", "12", "--key", "--limit"]
    hidden = ["x", "--api_key", HIDDEN, "--model_args", f"a=b,token={HIDDEN}", *words[5:]]
    assert hide_in_words(words, {}) == hidden
