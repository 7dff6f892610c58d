"""The page on troubleshooting has every message of the code, and no other.

`tests/faults/test_table.py` looks up each message that its runs print.
"""

from __future__ import annotations

from tests.docs.messages import ANY, PAGE, code_texts, explained, is_explained, raised

MIN_LETTERS = 4


def test_messages_of_the_page_are_in_the_code() -> None:
    texts = code_texts()
    for message in explained():
        assert len(message.replace(ANY, "")) >= MIN_LETTERS, message
        for words in filter(None, (part.strip() for part in message.split(ANY))):
            assert any(words in text for text in texts), words


def test_messages_of_the_code_are_on_the_page() -> None:
    missing = {message for message in raised() if not is_explained(message)}
    assert not missing, f"add to {PAGE}"
