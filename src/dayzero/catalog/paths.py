"""Where things stand in the site, the same in files and on the live server."""

from dayzero.core.pins import Sha256

RELEASES_FEED, RETRACTIONS_FEED = "feeds/releases.atom", "feeds/retractions.atom"
PACKAGES_DOCUMENT = "api/v1/packages.json"
PERFORMANCE, PERFORMANCE_DOCUMENT = "perfdb/index.html", "perfdb/page.json"
OPENAPI, LLMS, KEYS = "openapi.json", "llms.txt", ".well-known/dayzero-keys.json"
INDEX, INDEX_ENVELOPE = "index.json", "index.json.dsse"


def page_path(name: str) -> str:
    """Say where a package stands: the page of its latest version."""
    return f"packages/{name}/index.html"


def edition_folder(name: str, handle: str) -> str:
    """Say which folder holds a version, without a ``/`` at the end."""
    return f"packages/{name}/{handle}"


def edition_path(name: str, handle: str) -> str:
    """Say where the page of a version stands."""
    return f"{edition_folder(name, handle)}/index.html"


def linked_data_path(name: str, handle: str) -> str:
    """Say where a version's JSON-LD stands."""
    return f"{edition_folder(name, handle)}/index.jsonld"


def definition_path(name: str, handle: str) -> str:
    """Say where a version's definition stands."""
    return f"{edition_folder(name, handle)}/package.toml"


def deploy_path(name: str, handle: str, target: str, path: str) -> str:
    """Say where one deploy file stands."""
    return f"{edition_folder(name, handle)}/deploy/{target}/{path}"


def kit_path(name: str, handle: str, file: str) -> str:
    """Say where the kit, its attestation or its key stands."""
    return f"{edition_folder(name, handle)}/kit/{file}"


def comparison_path(left: tuple[str, str], right: tuple[str, str]) -> str:
    """Say where two versions stand side by side; each is (name, handle)."""
    return f"compare/{left[0]}@{left[1]}...{right[0]}@{right[1]}/index.html"


def find_path(facet: str, folder: str) -> str:
    """Say where the listing of one value of a facet stands; ``folder`` is :func:`value_folder` of the value."""
    return f"find/{facet}/{folder}/index.html"


def value_folder(value: str) -> str:
    """Name a folder after a facet's value: what cannot stand in a plain file name is written as ``_`` and its code."""
    kept = "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in "-.+") else f"_{ord(sign):x}_" for sign in value
    )
    return kept if kept.strip(".") else f"_{kept}"


def claim_path(slug: str) -> str:
    """Say where a claim's page stands in the site."""
    return f"claims/{slug}/index.html"


def raw_path(digest: Sha256) -> str:
    """Say where a raw file stands in the site."""
    return f"evidence/raw/{digest}"


def package_document_path(name: str) -> str:
    """Say where the document of a package with all its versions stands."""
    return f"api/v1/packages/{name}.json"


def edition_document_path(name: str, handle: str) -> str:
    """Say where the document of a version stands: how it is now."""
    return f"api/v1/packages/{name}/{handle}.json"


def release_document_path(name: str, version: str) -> str:
    """Say where the document of a release stands: it never changes."""
    return f"api/v1/releases/{name}/{version}.json"


def claim_document_path(slug: str) -> str:
    """Say where the document of a claim stands."""
    return f"api/v1/claims/{slug}.json"
