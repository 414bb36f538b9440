"""What RFC 4287 asks of a feed, asked of its bytes."""

import re
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

ATOM = "{http://www.w3.org/2005/Atom}"
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_ONCE = ("id", "title", "updated")
_AT_MOST_ONCE = ("published", "content", "summary", "rights", "subtitle", "generator", "icon", "logo", "source")
_TEXT_TYPES = ("text", "html", "xhtml")


def feed_faults(content: bytes) -> list[str]:
    """Say what keeps a document from being an Atom feed."""
    root = ET.fromstring(content)  # noqa: S314  (our own feed)
    if root.tag != f"{ATOM}feed":
        return [f"the root is {root.tag}"]
    faults = _common(root, "feed")
    entries = root.findall(f"{ATOM}entry")
    if root.find(f"{ATOM}author") is None:
        faults += [f"entry {number} has no author, and the feed has none" for number, entry in enumerate(entries)
                   if entry.find(f"{ATOM}author") is None]  # fmt: skip
    if not any(link.get("rel") == "self" for link in root.findall(f"{ATOM}link")):
        faults.append("the feed has no link to itself")
    for number, entry in enumerate(entries):
        faults += _common(entry, f"entry {number}") + _body(entry, f"entry {number}")
    seen = [(_text(entry, "id"), _text(entry, "updated")) for entry in entries]
    faults += [f"entry id twice at one instant: {one}" for one in sorted(set(seen)) if seen.count(one) > 1]
    newest = max((_text(entry, "updated") for entry in entries), default="")
    if newest > _text(root, "updated"):
        faults.append("an entry is newer than the feed says it is")
    return faults


def _text(element: ET.Element, name: str) -> str:
    return (element.findtext(f"{ATOM}{name}") or "").strip()


def _common(element: ET.Element, where: str) -> list[str]:
    faults = [f"{where}: {len(element.findall(ATOM + name))} of {name}, not one" for name in _ONCE
              if len(element.findall(ATOM + name)) != 1]  # fmt: skip
    faults += [f"{where}: {name} more than once" for name in _AT_MOST_ONCE if len(element.findall(ATOM + name)) > 1]
    if not urlsplit(_text(element, "id")).scheme:
        faults.append(f"{where}: the id {_text(element, 'id')!r} is no IRI with a scheme")
    faults += [f"{where}: {name} {_text(element, name)!r} is no RFC 3339 instant" for name in ("updated", "published")
               if element.find(ATOM + name) is not None and not _DATE.fullmatch(_text(element, name))]  # fmt: skip
    faults += [f"{where}: a {construct} of type {part.get('type')}" for construct in ("title", "subtitle", "summary", "rights")
               for part in element.findall(ATOM + construct) if part.get("type", "text") not in _TEXT_TYPES]  # fmt: skip
    faults += [
        f"{where}: an author without a name" for author in element.findall(f"{ATOM}author") if not _text(author, "name")
    ]
    return faults + _links(element, where)


def _links(element: ET.Element, where: str) -> list[str]:
    links = element.findall(f"{ATOM}link")
    faults = [f"{where}: a link without an address" for link in links if not link.get("href")]
    alternates = [
        (link.get("type", ""), link.get("hreflang", ""))
        for link in links
        if link.get("rel", "alternate") == "alternate"
    ]
    if len(alternates) != len(set(alternates)):
        faults.append(f"{where}: two alternates of one type and language")
    return faults


def _body(entry: ET.Element, where: str) -> list[str]:
    content = entry.find(f"{ATOM}content")
    alternate = any(link.get("rel", "alternate") == "alternate" for link in entry.findall(f"{ATOM}link"))
    if content is None and not alternate:
        return [f"{where}: neither content nor an alternate link"]
    outside = content is not None and content.get("src") is not None
    return [f"{where}: content elsewhere and no summary"] if outside and entry.find(f"{ATOM}summary") is None else []
