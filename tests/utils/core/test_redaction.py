import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.core.text import HIDDEN, hide_in_words, hide_known_secrets, hide_secrets

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
        "secret_key={}",
        "db_pwd={}",
        "pwd: {}",
        "smtp_pass={}",
        "passphrase={}",
        "authorization={}",
        "Authorization: Basic {}",
        "Authorization: Token {}",
        "{{'Authorization': 'Bearer {}'}}",
        "x-api-key: {}",
        '{{"x-api-key": "{}"}}',
        "Ocp-Apim-Subscription-Key: {}",
        "private_key={}",
        "https://blob.example/v.mp4?se=2026&sig={}",
        "https://s3.example/v.mp4?X-Amz-Signature={}",
        "http://host/v1?api_key={}",
        "http://host/v1?access_token={}&model=j",
        "url=http://user:p@ss{}@host/v1,model=j",
        "api_key='{}'",
        "api_key='a b {}'",
        '{{"password": "with \\"quotes\\" {}"}}',
        "credentials={}",
        "hf_auth={}",
        "Cookie: {}",
        "401: {{'error': 'bad key', 'api_key': '{}'}}",
    ],
)
def test_values_of_names_that_say_so_are_hidden(text: str) -> None:
    hidden = hide_secrets(text.format(SECRET), {})
    assert SECRET not in hidden and HIDDEN in hidden


@pytest.mark.parametrize(
    "key",
    [
        "hf_" + "a" * 34,
        "sk-" + "b" * 40,
        "sk-proj-" + "c" * 40,
        "AIza" + "d" * 35,
        "AKIA" + "E" * 16,
        "ASIA" + "F" * 16,
        "ghp_" + "g" * 36,
        "gho_" + "h" * 36,
        "github_pat_" + "i" * 22 + "_" + "j" * 59,
        "glpat-" + "k" * 20,
        "xoxb-" + "1" * 12 + "-" + "l" * 24,
        "gsk_" + "m" * 52,
        "nvapi-" + "n" * 64,
        "r8_" + "o" * 37,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ],
)
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
        "sort_key=time,compass=north,author: Ada",
        "pass@1: 0.5; the pass was cleared; authors=3",
        "the ball, a cup and a sign: all seen @ 3 s",
        "https://example.org/a?b=c#d",
    ],
)
def test_nothing_else_is(text: str) -> None:
    assert hide_secrets(text, {"HOME": "max", "SHORT_KEY": "a"}) == text


@given(st.text(), st.text(min_size=6), st.text())
def test_what_a_variable_holds_as_a_key_is_never_in_a_text(before: str, secret: str, after: str) -> None:
    for name in (
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "my_password",
        "KEYS",
        "API_TOKENS",
        "SMTP_PASS",
        "PROXY_AUTH",
        "DB_PWD",
    ):
        hidden = hide_secrets(before + secret + after, {name: secret})
        # What is put in its place could hold it, or make it anew with what stands beside.
        assert secret not in hidden.replace(HIDDEN, "\0") or secret in before + "\0" + after


def test_each_of_several_keys_in_one_variable_is_hidden() -> None:
    text = hide_secrets("tried first-key-1 and second-key-2", {"API_KEYS": "first-key-1, second-key-2"})
    assert text == f"tried {HIDDEN} and {HIDDEN}"


@pytest.mark.parametrize("written", ["p%40ss%2Fword%22", 'p@ss/word\\"'])
def test_a_key_is_hidden_as_addresses_and_json_write_it(written: str) -> None:
    assert hide_known_secrets(f"at {written}!", {"DB_PASSWORD": 'p@ss/word"'}) == f"at {HIDDEN}!"


def test_the_working_directory_is_no_password() -> None:
    assert hide_secrets("in /home/user", {"PWD": "/home/user", "OLDPWD": "/home/user"}) == "in /home/user"


def test_in_a_command_the_word_after_an_option_is_hidden_too() -> None:
    words = ["x", "--api_key", SECRET, "--model_args", f"a=b,token={SECRET}", "--limit", "12", "--key", "--limit"]
    hidden = ["x", "--api_key", HIDDEN, "--model_args", f"a=b,token={HIDDEN}", *words[5:]]
    assert hide_in_words(words, {}) == hidden
