import pytest

from lmms_eval_tasks.utils.core.text import parse_arguments


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", {}),
        (None, {}),
        ("pretrained=org/name,fps=1.0", {"pretrained": "org/name", "fps": "1.0"}),
        (" a = b c ,, url=http://host/?x=1 ,", {"a": "b c", "url": "http://host/?x=1"}),
        ("alone,a=", {"alone": "", "a": ""}),
        ("a=1,a=2", {"a": "2"}),
        ({"a": 1, "b": None}, {"a": "1", "b": "None"}),
    ],
)
def test_arguments_are_texts_by_name(given: object, expected: dict[str, str]) -> None:
    assert parse_arguments(given) == expected  # type: ignore[arg-type]
