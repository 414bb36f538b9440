"""Write ``items.jsonl``: sixty short questions with one right number each, the same ones each time.

    python make.py

They are of the kind that a small model gets right about every second time, so that both a loss and a gain can be seen.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

SEED, EACH = 20261130, 20
SHOTS = {
    "sum": "1 + 1 = 2\n4 + 3 = 7\n6 + 5 = 11\n2 + 8 = 10\n",
    "sequence": "1, 2, 3, 4 -> 5\n10, 20, 30, 40 -> 50\n3, 5, 7, 9 -> 11\n",
    "larger": "larger of 12, 57 = 57\nlarger of 81, 33 = 81\nlarger of 45, 46 = 46\n",
}


def items() -> Iterator[dict[str, str]]:
    """Give the questions, each behind the same examples."""
    draw = random.Random(SEED)  # noqa: S311  (not a secret)
    for _ in range(EACH):
        a, b = draw.randint(1, 9), draw.randint(1, 9)
        yield {"kind": "sum", "prompt": f"{SHOTS['sum']}{a} + {b} =", "answer": str(a + b)}
    for _ in range(EACH):
        start, step = draw.randint(1, 30), draw.choice([1, 2, 5, 10])
        row = ", ".join(str(start + step * place) for place in range(4))
        yield {"kind": "sequence", "prompt": f"{SHOTS['sequence']}{row} ->", "answer": str(start + 4 * step)}
    for _ in range(EACH):
        a, b = draw.sample(range(10, 99), 2)
        yield {"kind": "larger", "prompt": f"{SHOTS['larger']}larger of {a}, {b} =", "answer": str(max(a, b))}


if __name__ == "__main__":
    Path(__file__).with_name("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items()))
