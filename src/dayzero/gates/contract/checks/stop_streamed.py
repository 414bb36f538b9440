"""A stop string that begins in one chunk and ends in another is seen, and nothing of it is sent."""

from itertools import accumulate, pairwise

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.checks.stop import judged
from dayzero.gates.contract.model import Outcome
from dayzero.gates.contract.talk import Talk

_SIDE = 2  # characters on each side of the border
_EARLIEST = 10


def _look(talk: Talk) -> Outcome:
    chunks = talk.streamed(STORY).chunks
    borders = zip(accumulate(map(len, chunks)), pairwise(chunks), strict=False)
    border = next((at for at, sides in borders if at > _EARLIEST and min(map(len, sides)) >= _SIDE), 0)
    if not border:
        return Undecided("the stream has no two chunks between which a stop string could stand")
    text = "".join(chunks)
    stop = text[border - _SIDE : border + _SIDE]
    return judged(talk.streamed(STORY, stop=[stop]), text, stop)


CHECK = Check(
    name="stop-across-chunks", promise="a stop string across two chunks is seen, and nothing of it is sent", look=_look
)
