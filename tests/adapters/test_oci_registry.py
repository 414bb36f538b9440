"""Kits through a strict simulator of a registry that lies and fails as told; the real one is in tests/cli/test_kit_registry.py."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.kit_samples import FILES, OTHER
from tests.simulators.oci_registry import Asked, Registry, Reply, Spoil, named, oci_registry, refused

from dayzero.adapters.kit_files import KitFiles
from dayzero.adapters.kit_places import Pulled, Pushed, RegistryPlace, parse_place, pull, push
from dayzero.adapters.oci_manifest import MAX_MANIFEST_BYTES, index_of
from dayzero.core.errors import DayzeroError, InputError, IntegrityError, RemoteError


def place(registry: Registry, reference: str = ":1.0.0") -> RegistryPlace:
    made = parse_place(f"oci://{registry.host}/kits/a{reference}")
    assert isinstance(made, RegistryPlace)
    return made


def put(registry: Registry, files: KitFiles = FILES, **options: bool) -> Pushed:
    return push(files, place(registry), wait=lambda _s: None, **options)


def get(registry: Registry, reference: str = ":1.0.0") -> Pulled:
    return pull(place(registry, reference), wait=lambda _s: None)


@pytest.fixture
def registry() -> Iterator[Registry]:
    with oci_registry() as serving:
        yield serving


def last_tag_first(registry: Registry) -> list[str]:
    return [
        asked.path.rpartition("/")[2]
        for asked in registry.asked
        if asked.method == "PUT" and "/manifests/" in asked.path
    ]


@pytest.mark.parametrize("referrers_api", [True, False])
@pytest.mark.parametrize("page", [1, 100])
def test_what_was_pushed_comes_back_byte_for_byte(referrers_api, page):
    with oci_registry(referrers_api=referrers_api, page=page) as registry:
        pushed = put(registry)
        assert pushed.referrers == ("api" if referrers_api else "tag")
        assert get(registry) == Pulled(FILES, pushed.reference)
        assert get(registry, f"@{pushed.reference.partition('@')[2]}").files == FILES
        assert ("sha256-" in str(sorted(registry.tags))) is not referrers_api


def test_the_lines_come_back_in_their_order_whatever_the_registry_lists_first():
    lines = [b"%d\n" % number for number in range(40, 0, -1)]
    many = replace(FILES, attestation=FILES.attestation + b"".join(lines))
    with oci_registry() as registry:
        put(registry, many)
        assert get(registry).files.attestation == many.attestation


def test_an_attestation_without_a_last_newline_comes_back_without_it(registry):
    cut = replace(FILES, attestation=FILES.attestation.removesuffix(b"\n"), proof=None)
    put(registry, cut)
    assert get(registry).files == cut


def test_a_second_push_sends_no_blob_again(registry):
    first, second = put(registry), put(registry)
    assert (first.uploaded, first.present) == (5, 0)
    assert (second.uploaded, second.present, second.reference) == (0, 5, first.reference)


def test_the_tag_is_set_last_so_who_finds_it_finds_everything(registry):
    put(registry)
    assert last_tag_first(registry)[-1] == "1.0.0"
    assert last_tag_first(registry).count("1.0.0") == 1


def test_a_tag_that_names_another_kit_is_moved_only_when_asked(registry):
    put(registry)
    other = KitFiles(stem="a-1.0.0", archive=OTHER.archive, attestation=OTHER.attestation())
    with pytest.raises(InputError, match="names other bytes already"):
        put(registry, other)
    assert get(registry).files == FILES
    put(registry, other, replace=True)
    assert get(registry).files == other


def test_the_manifest_is_an_artifact_as_the_image_specification_writes_one(registry):
    digest = put(registry).reference.partition("@")[2]
    manifest = json.loads(registry.manifests[digest][1])
    assert manifest["artifactType"] == "application/vnd.dayzero.kit.v1"
    empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert manifest["config"] == {"mediaType": "application/vnd.oci.empty.v1+json", "digest": empty, "size": 2}
    (layer,) = manifest["layers"]
    assert layer["annotations"] == {"org.opencontainers.image.title": "a-1.0.0.kit.zip"}
    assert registry.blobs[layer["digest"]] == FILES.archive
    referring = [json.loads(content) for _, content in registry.manifests.values() if b'"subject"' in content]
    assert {entry["subject"]["digest"] for entry in referring} == {digest}
    kinds = sorted(entry["artifactType"] for entry in referring)
    assert kinds == ["application/vnd.dayzero.tlog-proof.v1"] + ["application/vnd.in-toto+json"] * 2


def test_referrers_of_others_are_left_alone(registry):
    digest = put(registry).reference.partition("@")[2]
    cosign = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": "application/vnd.in-toto+json",
        "subject": {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1},
        "annotations": {"dayzero.attestation.line": "1"},
    }
    content = json.dumps(cosign).encode()
    registry.manifests[named(content)] = (cosign["mediaType"], content)
    assert get(registry).files == FILES


def test_entries_of_others_under_the_referrers_tag_stay():
    with oci_registry(referrers_api=False) as registry:
        put(registry, replace(FILES, proof=None))
        tag = next(tag for tag in registry.tags if tag.startswith("sha256-"))
        kind, content = registry.manifests[registry.tags[tag]]
        index = json.loads(content)
        foreign = {**index["manifests"][0], "annotations": {"whose": "another's"}, "digest": f"sha256:{'0' * 64}"}
        index["manifests"] = [foreign, index["manifests"][1]]
        changed = json.dumps(index).encode()
        registry.manifests[named(changed)], registry.tags[tag] = (kind, changed), named(changed)
        registry.manifests[foreign["digest"]] = (kind, b"{}")
        put(registry, replace(FILES, proof=None))
        listed = json.loads(registry.manifests[registry.tags[tag]][1])["manifests"]
        assert foreign in listed
        assert len(listed) == 3


def test_a_tag_that_moves_between_two_requests_mixes_nothing(registry):
    put(registry)
    other = KitFiles(stem="a-1.0.0", archive=OTHER.archive, attestation=OTHER.attestation())
    push(other, place(registry, ":2.0.0"))

    def move(asked: Asked, reply: Reply) -> Reply:
        if asked.path.endswith("/manifests/1.0.0"):
            registry.tags["1.0.0"] = registry.tags["2.0.0"]
        return reply

    registry.spoil = move
    assert get(registry).files == FILES
    assert get(registry).files == other


def on(method: str, part: str, change: dict[str, object] | Reply, times: int = 99) -> Spoil:
    """Change the answers to some requests."""
    left = [times]

    def spoil(asked: Asked, reply: Reply) -> Reply:
        if asked.method != method or part not in asked.path or not left[0]:
            return reply
        left[0] -= 1
        return change if isinstance(change, Reply) else replace(reply, **change)

    return spoil


def edited(part: str, edit) -> Spoil:
    """Edit the JSON of some answers, and serve it under whatever digest was asked for."""

    def spoil(asked: Asked, reply: Reply) -> Reply:
        if asked.method != "GET" or part not in asked.path or reply.status != 200:
            return reply
        document = json.loads(reply.body)
        edit(document)
        return replace(reply, body=json.dumps(document).encode())

    return spoil


def line_of(entry: dict[str, dict[str, str]]) -> str:
    return entry["annotations"].get("dayzero.attestation.line", "")


def drop_proof(index: dict[str, list[dict[str, str]]]) -> None:
    index["manifests"] = [entry for entry in index["manifests"] if "tlog-proof" not in entry["artifactType"]]


ARCHIVE = named(FILES.archive)
PULL_FAULTS: list[tuple[str, Spoil, type[DayzeroError], str]] = [
    ("other bytes", on("GET", f"/blobs/{ARCHIVE}", {"body": FILES.archive[:-1] + b"x"}), IntegrityError, "other bytes"),
    ("fewer bytes", on("GET", f"/blobs/{ARCHIVE}", {"body": FILES.archive[:-1]}), IntegrityError, "other bytes"),
    ("more bytes", on("GET", f"/blobs/{ARCHIVE}", {"body": FILES.archive + b"x"}), RemoteError, "longer than"),
    ("a cut answer", on("GET", "/blobs/", {"cut": 7}), RemoteError, "GET"),
    ("no access", on("GET", "/manifests/", refused(403, "DENIED")), RemoteError, r"403 \(DENIED no\)"),
    ("no log-in", on("GET", "/manifests/", refused(401, "UNAUTHORIZED")), RemoteError, "401"),
    ("too many requests", on("GET", "/blobs/", refused(429, "TOOMANYREQUESTS")), RemoteError, "429"),
    ("a broken registry", on("GET", "/blobs/", Reply(500, b"<html>")), RemoteError, "500$"),
    ("a blob is gone", on("GET", "/blobs/", refused(404, "BLOB_UNKNOWN")), RemoteError, "404"),
    ("nothing there", on("GET", "/manifests/1.0.0", refused(404, "MANIFEST_UNKNOWN")), RemoteError, "there is no oci"),
    (
        "another layer",
        edited("/1.0.0", lambda d: d["layers"].append(d["layers"][0])),
        IntegrityError,
        "exactly one layer",
    ),
    ("no layer", edited("/1.0.0", lambda d: d["layers"].clear()), IntegrityError, "exactly one layer"),
    ("an image", edited("/1.0.0", lambda d: d.pop("artifactType")), InputError, "something else than a kit"),
    ("no JSON", on("GET", "/1.0.0", {"body": b"<html>"}), IntegrityError, "no whole kit"),
    (
        "a manifest without end",
        on("GET", "/1.0.0", {"body": b" " * (MAX_MANIFEST_BYTES + 1)}),
        RemoteError,
        "longer than",
    ),
    ("an index", on("GET", "/1.0.0", {"body": index_of([])}), InputError, "something else than a kit"),
    ("a key twice", on("GET", "/1.0.0", {"body": b'{"a":1,"a":2}'}), IntegrityError, "no whole kit"),
    (
        "a title that leads out",
        edited(
            "/1.0.0", lambda d: d["layers"][0]["annotations"].update({"org.opencontainers.image.title": "../a.kit.zip"})
        ),
        IntegrityError,
        "not the file name of a kit",
    ),
    (
        "a layer too large",
        edited("/1.0.0", lambda d: d["layers"][0].update(size=1 << 40)),
        IntegrityError,
        "larger than 67108864 bytes",
    ),
    (
        "a digest of another kind",
        edited("/1.0.0", lambda d: d["layers"][0].update(digest="sha512:" + "0" * 128)),
        IntegrityError,
        "not a sha256 digest",
    ),
    (
        "no referrers",
        edited("/referrers/", lambda d: d["manifests"].clear()),
        IntegrityError,
        "statement 1 of 2 is not there",
    ),
    (
        "a statement is left out",
        edited("/referrers/", lambda d: [d["manifests"].remove(e) for e in list(d["manifests"]) if "2" in line_of(e)]),
        IntegrityError,
        "statement 2 of 2 is not there",
    ),
    ("a proof is left out", edited("/referrers/", drop_proof), IntegrityError, "log proof is not there"),
    ("a list that is none", on("GET", "/referrers/", {"body": b"[]"}), IntegrityError, "no JSON object"),
]


def test_a_referrer_that_is_listed_twice_counts_once(registry):
    put(registry)
    registry.spoil = edited("/referrers/", lambda index: index["manifests"].extend(index["manifests"]))
    assert get(registry).files == FILES


@pytest.mark.parametrize(
    ("spoil", "family", "words"), [fault[1:] for fault in PULL_FAULTS], ids=[f[0] for f in PULL_FAULTS]
)
def test_a_registry_that_lies_or_fails_is_refused(registry, spoil, family, words, tmp_path: Path):
    put(registry)
    registry.spoil = spoil
    with pytest.raises(family, match=words) as caught:
        get(registry)
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_with_another_digest_than_the_reference_is_refused(registry):
    digest = put(registry).reference.partition("@")[2]
    registry.spoil = edited(f"/manifests/{digest}", lambda d: d.update(note="x"))
    with pytest.raises(IntegrityError, match="instead of sha256:"):
        get(registry, f"@{digest}")


def test_a_referrer_of_another_kit_is_refused(registry):
    put(registry)
    push(replace(FILES, proof=None), place(registry, ":2.0.0"))  # the same statements, another manifest

    def both(asked: Asked, reply: Reply) -> Reply:
        if "/referrers/" not in asked.path:
            return reply
        entries = []
        for digest, (kind, content) in registry.manifests.items():
            members = json.loads(content)
            if "subject" in members:
                about = {key: members[key] for key in ("artifactType", "annotations")}
                entries.append({"mediaType": kind, "digest": digest, "size": len(content), **about})
        return replace(reply, body=json.dumps({"schemaVersion": 2, "manifests": entries}).encode())

    registry.spoil = both
    with pytest.raises(IntegrityError, match="refers to another kit"):
        get(registry)


def test_a_statement_that_stands_in_for_another_is_refused(registry):
    """Whoever may push can refer to the kit with a whole manifest and a blob of their own."""
    put(registry)
    forged = OTHER.attestation().splitlines(keepends=True)[1]
    registry.blobs[named(forged)] = forged
    for digest, (kind, content) in list(registry.manifests.items()):
        members = json.loads(content)
        if members.get("annotations", {}).get("dayzero.attestation.line") == "2":
            members["layers"][0].update(digest=named(forged), size=len(forged))
            changed = json.dumps(members).encode()
            registry.manifests[named(changed)] = (kind, changed)
            with pytest.raises(IntegrityError, match="two different lines 2"):
                get(registry)
            del registry.manifests[digest]
    with pytest.raises(IntegrityError, match="other statements than were pushed"):
        get(registry)


@pytest.mark.parametrize("leads_to", ["itself", "nowhere"])
def test_a_list_of_referrers_that_does_not_end_is_left(registry, leads_to):
    put(registry)

    def endless(asked: Asked, reply: Reply) -> Reply:
        where = asked.path if leads_to == "itself" else "/v2/kits/a/referrers/x"
        return replace(reply, headers=(("Link", f'<{where}>; rel="next"'),)) if "/referrers/" in asked.path else reply

    registry.spoil = endless
    with pytest.raises(
        RemoteError, match="does not end" if leads_to == "itself" else "did not list the referrers: 404"
    ):
        get(registry)
    assert len(registry.asked) < 60


LIES = {"headers": (("Docker-Content-Digest", "sha256:0"),)}
PUSH_FAULTS: list[tuple[str, Spoil, type[DayzeroError], str]] = [
    ("stored other bytes", on("PUT", "/manifests/1.0.0", LIES), IntegrityError, "stored other bytes"),
    ("blob stored otherwise", on("PUT", "/uploads/", LIES), IntegrityError, "stored other bytes"),
    ("read only", on("POST", "/uploads/", refused(403, "DENIED")), RemoteError, "begin an upload: 403"),
    ("full", on("PUT", "/uploads/", Reply(507)), RemoteError, "take a blob: 507"),
    ("no manifests", on("PUT", "/manifests/", refused(415, "UNSUPPORTED")), RemoteError, "take the manifest .*415"),
]


@pytest.mark.parametrize(
    ("spoil", "family", "words"), [fault[1:] for fault in PUSH_FAULTS], ids=[f[0] for f in PUSH_FAULTS]
)
def test_a_push_that_went_wrong_says_so(registry, spoil, family, words):
    registry.spoil = spoil
    with pytest.raises(family, match=words):
        put(registry)


@pytest.mark.parametrize("status", [429, 503])
def test_a_registry_that_is_busy_is_asked_again_when_it_says(registry, status):
    put(registry)
    busy = replace(refused(status, "BUSY"), headers=(("Retry-After", "7"),))
    registry.spoil = on("GET", "/blobs/", busy, times=2)
    waits: list[float] = []
    assert pull(place(registry), wait=waits.append).files == FILES
    assert waits == [7.0, 7.0]


def test_a_push_by_digest_takes_only_that_kit(registry):
    digest = put(registry).reference.partition("@")[2]
    assert push(FILES, place(registry, f"@{digest}")).reference.endswith(digest)
    with pytest.raises(InputError, match="is not sha256:0000"):
        push(FILES, place(registry, f"@sha256:{'0' * 64}"))


@pytest.mark.parametrize("bearer", [True, False])
def test_the_users_log_in_is_shown_to_a_registry_that_asks(bearer, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with oci_registry(login="me:secret", bearer=bearer) as registry:
        with pytest.raises(RemoteError, match="401") as caught:
            put(registry)
        assert f"docker login {registry.host}" in caught.value.hint
        (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": "bWU6c2VjcmV0"}}}))
        put(registry)
        assert get(registry).files == FILES


def test_an_identity_token_is_changed_for_one_of_the_registry(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with oci_registry(login="me:secret", bearer=True) as registry:
        entry = {"auth": "bWU6", "identitytoken": "refresh"}
        (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: entry}}))
        put(registry)
        assert get(registry).files == FILES


def test_what_the_registry_is_shown_goes_to_no_other_host(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with oci_registry(login="me:secret") as registry, oci_registry() as store:
        (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": "bWU6c2VjcmV0"}}}))
        put(registry)
        store.blobs = registry.blobs

        def elsewhere(asked: Asked, reply: Reply) -> Reply:
            if asked.method == "GET" and "/blobs/" in asked.path and reply.status == 200:
                return Reply(307, headers=(("Location", f"http://{store.host}{asked.path}"),))
            return reply

        registry.spoil = elsewhere
        assert get(registry).files == FILES
        assert len(store.asked) == 4
        assert [asked for asked in store.asked if "authorization" in asked.headers] == []


def test_an_upload_that_is_sent_to_another_host_takes_no_log_in_along(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with oci_registry(login="me:secret") as registry, oci_registry() as store:
        (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": "bWU6c2VjcmV0"}}}))
        store.sessions, store.blobs = {"1"}, registry.blobs
        there = f"http://{store.host}/v2/kits/a/blobs/uploads/1?state=x"

        def elsewhere(asked: Asked, reply: Reply) -> Reply:
            store.sessions.add("1")
            return (
                Reply(202, headers=(("Location", there),)) if asked.method == "POST" and reply.status == 202 else reply
            )

        registry.spoil = elsewhere
        put(registry)
        assert len(store.asked) == 5
        assert [asked for asked in store.asked if "authorization" in asked.headers] == []
