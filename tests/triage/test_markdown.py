from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.triage.samples import LOG, root_found

from dayzero.triage.markdown import paste
from dayzero.triage.model import CauseNotInLog, Link, Role, Started, UnknownWall

ROOT = """**Root cause**, line 3 of `engine.log`:
```text
3: [root] E unknown model architecture
```
**Wall**: model-unrecognized (model-unrecognized). This build does not know the architecture.
**Resolution** (confirmed by a maintainer): Re-pin.
**Chain**:
```text
3: [root] E unknown model architecture
9: [api_server] RuntimeError: Engine core initialization failed.
```
vllm 0.32.0, 12 lines, sha256 `"""


def test_a_root_is_written_with_its_wall_its_resolution_and_its_chain():
    assert paste(root_found(), "engine.log") == f"{ROOT}{'ab' * 32}`"


def test_a_resolution_that_nobody_confirmed_says_so():
    assert "**Resolution** (unconfirmed): Re-pin." in paste(root_found(confirmed_by=""), "engine.log")


def test_an_unknown_wall_is_left_out_not_made_up():
    written = paste(replace(root_found(), wall=UnknownWall()), "engine.log")
    assert "**Wall**" not in written
    assert "**Resolution**" not in written


def test_a_refusal_lists_what_to_collect():
    refused = CauseNotInLog(last=None, chain=(), reason="Killed.", collect=("dmesg",), wall=UnknownWall(), log=LOG)
    written = paste(refused, "engine.log").splitlines()
    assert written[:2] == ["**The cause is not in `engine.log`**: Killed.", "- collect: dmesg"]
    assert len(written) == 3


def test_a_start_names_its_line():
    started = Started(marker=Link(role=Role.SERVER, line=9, text="listening"), later=None, log=LOG)
    assert paste(started, "engine.log").startswith(
        "**Started**, line 9 of `engine.log`:\n```text\n9: [server] listening"
    )


def test_a_long_chain_is_cut_and_counted():
    links = tuple(Link(role=Role.WORKER, line=at, text="x" * 1000) for at in range(40))
    written = paste(replace(root_found(), chain=links), "engine.log")
    assert "and 28 more" in written
    assert len(written) < 7000


@given(text=st.text(alphabet="`~ab\\<!-", max_size=60), name=st.text(alphabet="`ab", max_size=9))
def test_nothing_that_a_log_says_opens_or_closes_a_fence(text, name):
    link = Link(role=Role.ROOT, line=3, text=text)
    written = paste(replace(root_found(), root=link, chain=(link,)), name)
    assert [line for line in written.splitlines() if line.startswith("`")] == ["```text", "```", "```text", "```"]
    assert written.count("`") == 3 * 4 + 4
