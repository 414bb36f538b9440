"""What is true of ``leader-worker-set.yaml`` alone; its pods are in ``test_pod.py``."""

from dataclasses import replace

import pytest
from tests.targets.cluster import by_kind, pods
from tests.targets.launches import k3_two_nodes, plain

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec, Placeholder
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.leader_worker_set import TARGET
from dayzero.targets.proof import prove, prove_commands


def _group(spec: LaunchSpec) -> dict[str, object]:
    group: dict[str, object] = by_kind(TARGET.render(spec))["LeaderWorkerSet"]["spec"]["leaderWorkerTemplate"]
    return group


def test_one_group_of_as_many_pods_as_nodes_is_made_again_as_a_whole() -> None:
    found = by_kind(TARGET.render(k3_two_nodes()))["LeaderWorkerSet"]["spec"]
    assert (found["replicas"], found["startupPolicy"]) == (1, "LeaderCreated")
    assert _group(k3_two_nodes())["size"] == 2
    assert _group(k3_two_nodes())["restartPolicy"] == "RecreateGroupOnPodRestart"


def test_a_worker_is_asked_nothing_over_http() -> None:
    leader, worker = (pod["containers"][0] for pod in pods(TARGET.render(k3_two_nodes())))
    asked = {"ports", "startupProbe", "livenessProbe", "readinessProbe"}
    assert asked <= set(leader)
    assert not asked & set(worker)
    assert {key: leader[key] for key in set(leader) - asked - {"args"}} == {
        key: worker[key] for key in set(worker) - {"args"}
    }


def test_the_service_leads_to_the_leader_and_leaves_the_sets_own_name_free() -> None:
    found = by_kind(TARGET.render(k3_two_nodes()))
    assert found["Service"]["metadata"]["name"] == "kimi-k3-two-nodes-leader"
    assert found["Service"]["spec"]["selector"] == {
        "leaderworkerset.sigs.k8s.io/name": found["LeaderWorkerSet"]["metadata"]["name"],
        "leaderworkerset.sigs.k8s.io/worker-index": "0",
    }


def test_the_nodes_differ_in_the_declared_words_alone() -> None:
    spec = k3_two_nodes()
    commands = TARGET.parse(TARGET.render(spec))
    assert commands.worker is not None
    shared = len(spec.argv)
    assert commands.leader.argv[:shared] == commands.worker.argv[:shared]
    assert commands.leader.argv[shared:] == (
        "--nnodes",
        "2",
        "--master-addr",
        Placeholder.LEADER_ADDRESS,
        "--node-rank",
        "0",
    )
    assert commands.worker.argv[shared:] == (
        *(
            "--nnodes",
            "2",
            "--master-addr",
            Placeholder.LEADER_ADDRESS,
            "--node-rank",
            Placeholder.NODE_RANK,
            "--headless",
        ),
    )
    assert commands.leader.env == commands.worker.env


def test_an_argument_that_looks_like_what_the_cluster_fills_in_stays_an_argument() -> None:
    spec = k3_two_nodes()
    literal = replace(spec, argv=(*spec.argv, "$(LWS_LEADER_ADDRESS)", "$(LWS_WORKER_INDEX)"))
    text = TARGET.render(literal)
    assert text.count('"$$(LWS_LEADER_ADDRESS)"') == text.count('"$$(LWS_WORKER_INDEX)"') == 2
    assert isinstance(prove_commands(literal, TARGET, text), Proven)
    assert isinstance(prove_commands(literal, TARGET, text.replace("$$(LWS", "$(LWS")), Refuted)
    assert isinstance(prove_commands(spec, TARGET, TARGET.render(spec).replace("$(LWS", "$$(LWS")), Refuted)


def test_one_node_is_a_group_of_one() -> None:
    assert set(_group(plain())) == {"size", "restartPolicy", "workerTemplate"}
    assert _group(plain())["size"] == 1
    assert "startupProbe" in pods(TARGET.render(plain()))[0]["containers"][0]
    assert isinstance(prove(plain(), TARGET), Proven)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    size: 2\n", "    size: 1\n"),
        ("    size: 2\n", ""),
        ("    size: 2\n", '    size: "2"\n'),
        ("    leaderTemplate:\n", "    subGroupPolicy: {}\n    leaderTemplate:\n"),
        ("    leaderTemplate:\n", "    anotherTemplate:\n"),
        ("  replicas: 1\n", "  replicas: 1\n  networkConfig: {}\n"),
        ('"$(LWS_WORKER_INDEX)"', '"$(LWS_LEADER_ADDRESS)"'),
        ('"$(LWS_WORKER_INDEX)"', '"1"'),
        ('"$(LWS_LEADER_ADDRESS)"', '"$(LWS_LEADER_ADDRESS):80"'),
        ('              - "--headless"\n', ""),
    ],
)
def test_a_file_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(k3_two_nodes())
    assert old in text
    assert isinstance(prove_commands(k3_two_nodes(), TARGET, text.replace(old, new)), Refuted)


@pytest.mark.parametrize("name", ["LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"])
def test_a_variable_that_the_controller_sets_itself_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"sets {name} itself"):
        TARGET.render(replace(plain(), env=((name, "x"),)))


def test_a_name_that_would_not_fit_into_the_labels_of_its_pods_is_refused() -> None:
    assert TARGET.render(replace(plain(), name="a" * 50))
    with pytest.raises(InputError, match="at most 50 letters"):
        TARGET.render(replace(plain(), name="a" * 51))
