import re

import pytest

from dayzero.adapters.site.environment import asset
from dayzero.adapters.site.render import SCRIPT, STYLE, assets


def palettes() -> list[dict[str, str]]:
    style = assets()[STYLE].decode()
    return [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root \{([^}]*)\}", style)
    ][:2]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "paper"),
    [
        ("ink", "paper"),
        ("ink", "panel"),
        ("ink", "warn-paper"),
        ("soft", "paper"),
        ("soft", "panel"),
        ("accent", "paper"),
        ("accent", "panel"),
        ("second", "paper"),
        ("good", "paper"),
        ("good", "good-paper"),
        ("warn", "warn-paper"),
    ],
)
def test_text_stands_out_from_its_ground_in_light_and_dark(palette: dict[str, str], ink: str, paper: str):
    light, dark = sorted((luminance(palette[ink]), luminance(palette[paper])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("name", [STYLE, SCRIPT])
def test_style_and_script_ask_for_nothing_outside(name: str):
    assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttpRequest|import\(|eval\(", assets()[name].decode())


def test_motion_is_only_for_readers_who_did_not_ask_for_less():
    style = assets()[STYLE].decode()
    calm, _, moving = style.partition("@media (prefers-reduced-motion: no-preference)")
    assert "scroll-behavior: smooth" in moving
    assert not re.search(r"animation|transition|scroll-behavior", calm)


def test_every_class_of_a_template_is_styled_or_is_a_hook():
    style = assets()[STYLE].decode()
    used = {
        word
        for name in (
            "base",
            "parts",
            "listing",
            "facet",
            "edition",
            "fit",
            "compare",
            "claim",
            "retractions",
            "reading",
        )
        for given in re.findall(r'class="([^"]*)"', asset(f"{name}.html.j2"))
        for word in re.sub(r"\{[{%].*?[%}]\}", " ", given).split()
    }
    assert {word for word in used if f".{word}" not in style} == set()
