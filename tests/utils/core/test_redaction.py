import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.core.redaction import HIDDEN, hide_secrets

SECRET = "abc-DEF_123456"


@pytest.mark.parametrize(
    "text",
    [
        "model_version=gpt,api_key={},max_frames_num=4",
        "--openai_api_key {} --limit 4",
        "--api-key={}",
        "--hf_hub_log_args ,output_path=out,token={}",
        '{{"client_secret": "{}"}}',
        "OPENAI_API_KEY={} lmms-eval",
        "url=http://user:{}@host/v1,model=j",
        "Authorization: Bearer {}",
        "password: {}",
        "aws_secret_access_key={}",
    ],
)
def test_values_of_names_that_say_so_are_hidden(text: str) -> None:
    hidden = hide_secrets(text.format(SECRET), {})
    assert SECRET not in hidden and HIDDEN in hidden


@pytest.mark.parametrize("key", ["hf_" + "a" * 34, "sk-" + "b" * 40, "sk-proj-" + "c" * 40, "AIza" + "d" * 35])
def test_keys_of_known_shapes_are_hidden_wherever_they_stand(key: str) -> None:
    assert hide_secrets(f"pretrained={key},x", {}) == f"pretrained={HIDDEN},x"


@pytest.mark.parametrize(
    "text",
    [
        "max_new_tokens=8,num_tokens=3,tokenizer=abc",
        "add_bos_token=True",
        "cluster_key=group_id",
        "the monkey opens a door, key frames: 3",
        "url=http://localhost:8000/v1,model=j",
        "pretrained=Qwen/Qwen2.5-VL-7B-Instruct,max_num_frames=16",
    ],
)
def test_nothing_else_is(text: str) -> None:
    assert hide_secrets(text, {"HOME": "max", "SHORT_KEY": "a"}) == text


@given(st.text(), st.text(min_size=6), st.text())
def test_what_a_variable_holds_as_a_key_is_never_in_a_text(before: str, secret: str, after: str) -> None:
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "my_password"):
        hidden = hide_secrets(before + secret + after, {name: secret})
        # What is put in its place could hold it, or make it anew with what stands beside.
        assert secret not in hidden.replace(HIDDEN, "\0") or secret in before + "\0" + after
