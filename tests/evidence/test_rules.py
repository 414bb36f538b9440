import pytest
from tests.evidence.samples import CAUSE, OFF, ON, World, on_claim, retraction, seeds_world

from dayzero.core.verdict import Place
from dayzero.evidence.citation import Page
from dayzero.evidence.model import Explanation, NotMeasured, Uncitable
from dayzero.evidence.pages import read_page
from dayzero.evidence.rules import Comparison, Policy, Topic, rule_findings

_PLACE = Place(artifact="", file="evidence.toml", position="line 5")


def _found(world: World, policy: Policy) -> list[tuple[str, str, list[str]]]:
    readings = tuple(read_page(Page(path=path, content=text.encode())) for path, text in world.pages.items())
    findings = rule_findings(policy, world.parsed(), readings)
    return [(finding.kind.value, finding.reason, list(map(str, finding.places))) for finding in findings]


def _topic(claims: str, name: str = "throughput") -> Policy:
    return Policy(topics=(Topic(name=name, claims=claims, place=_PLACE),))


def _comparison(claim: str = "", arms: tuple[str, ...] = (OFF, ON), control: str = CAUSE) -> Policy:
    return Policy(comparisons=(Comparison(claim=claim, arms=arms, control=control, place=_PLACE),))


@pytest.mark.parametrize("claims", [OFF, "k3", "k3/", "k3/autotune", "k3/autotune-off-tok"])
def test_a_topic_is_measured_by_a_claim_whose_slug_begins_so(claims: str):
    assert _found(seeds_world(), _topic(claims)) == []


@pytest.mark.parametrize("claims", ["vision", "k3/auto", "k3/autotune-off-tok-s-p50", "k", OFF + "/"])
def test_a_topic_on_which_nothing_is_said_is_a_finding(claims: str):
    (finding,) = _found(seeds_world(), _topic(claims))
    assert finding == (
        "topic-unsaid",
        f"the topic 'throughput' is neither measured by a claim {claims!r} nor declared not measured",
        ["evidence.toml:5"],
    )


def test_a_topic_is_answered_by_saying_that_it_was_not_measured():
    world = seeds_world()
    world.append(NotMeasured(topic="vision", why="no image was sent"))
    assert _found(world, _topic("k3/vision", "vision")) == []
    assert len(_found(world, _topic("k3/vision", "Vision"))) == 1


def test_a_topic_whose_only_claim_was_taken_back_is_a_finding_that_names_each_citing_line():
    world = seeds_world()
    world.append(retraction(OFF))
    (finding,) = _found(world, _topic(OFF))
    assert finding[1].endswith(f"nor declared not measured; {OFF} is no number that stands")
    assert finding[2] == ["evidence.toml:5", "README.md:3", "site/index.html:4"]


def test_a_cause_measures_nothing():
    world = seeds_world()
    world.append(Explanation(slug="k3/cause", statement="autotune poisons the context", facts=(OFF, ON)))
    assert len(_found(world, _topic("k3/cause"))) == 1


def test_a_value_that_is_withheld_on_the_record_answers_its_topic():
    world = seeds_world()
    world.append(Uncitable(slug="k3/c128", topic="concurrency 128", why="no raw file was kept"))
    assert _found(world, _topic("k3/c128", "concurrency 128")) == []


def test_a_complete_comparison_is_no_finding():
    world = seeds_world()
    del world.pages["site/index.html"]
    assert _found(world, _comparison()) == []
    assert _found(seeds_world(), _comparison(claim=CAUSE, control=ON, arms=(OFF, CAUSE))) == []


@pytest.mark.parametrize(
    ("policy", "taken_back", "reason"),
    [
        (
            _comparison(ON, (OFF, CAUSE), "k3/a-vs-a"),
            None,
            f"the comparison {ON} lacks its control k3/a-vs-a, which was never measured",
        ),
        (
            _comparison(ON, (OFF, CAUSE), "k3/a-vs-a"),
            OFF,
            f"the comparison {ON} lacks its arm {OFF}, which does not stand any more",
        ),
        (
            _comparison(ON, (OFF, "k3/b"), CAUSE),
            None,
            f"the comparison {ON} lacks its arm k3/b, which was never measured",
        ),
        (
            _comparison(ON, (OFF, "k3/b"), CAUSE),
            CAUSE,
            f"the comparison {ON} lacks its control {CAUSE}, which does not stand any more",
        ),
    ],
)
def test_a_comparison_without_an_arm_or_its_control_names_each_line_that_cites_it(policy, taken_back, reason):
    world = seeds_world()
    if taken_back:
        world.append(retraction(taken_back))
    assert ("comparison-incomplete", reason, ["evidence.toml:5", "README.md:3", "site/index.html:5"]) in _found(
        world, policy
    )


def test_a_comparison_that_nobody_asserts_needs_no_control():
    world = seeds_world()
    world.append(retraction(ON))
    assert _found(world, _comparison(ON, (OFF, CAUSE), "k3/a-vs-a")) == []


def test_a_mistyped_comparison_does_not_pass_in_silence():
    (finding,) = _found(seeds_world(), _comparison("k3/speedup"))
    assert finding[1] == "the comparison k3/speedup is required to have its control, and no claim is called so"
    assert finding[2] == ["evidence.toml:5"]


def test_a_page_that_cites_both_arms_has_to_cite_their_control_too():
    world = seeds_world()
    world.pages["README.md"] = "\n".join(line for line in world.pages["README.md"].split("\n") if "Why" not in line)
    assert _found(world, _comparison()) == [
        (
            "comparison-incomplete",
            f"the page compares {OFF} with {ON} and does not cite their control {CAUSE}",
            ["evidence.toml:5", *places],
        )
        for places in (["README.md:3", "README.md:3"], ["site/index.html:4", "site/index.html:5"])
    ]


def test_a_page_that_cites_one_arm_compares_nothing():
    world = seeds_world()
    world.pages = {"README.md": world.pages["README.md"].replace(ON, "k3/else")}
    assert _found(world, _comparison(control="k3/never")) == []


def test_a_claim_that_was_made_again_answers_its_topic():
    world = seeds_world()
    world.append(retraction(ON), on_claim())
    assert _found(world, _topic(ON)) == []
