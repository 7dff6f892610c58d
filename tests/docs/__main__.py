"""Count the code blocks of the documentation that the tests run: `python -m tests.docs`."""

from __future__ import annotations

from collections import Counter

from tests.docs.pages import RUN, blocks, pages, read_page


def counted() -> tuple[int, Counter[str]]:
    """Return the number of blocks with commands that are run, and of others, by reason."""
    found = [
        block for page in pages() for block in blocks(read_page(page)) if block.language in RUN
    ]
    reasons = Counter(block.reason for block in found if block.reason)
    return len(found) - sum(reasons.values()), reasons


def main() -> None:
    """Print the counts."""
    run, not_run = counted()
    total = run + sum(not_run.values())
    print(f"{total} blocks with commands: {run} are run ({run / total:.0%})")
    for reason, number in not_run.most_common():
        print(f"{number} not run: {reason}")


if __name__ == "__main__":
    main()
