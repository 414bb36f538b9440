"""What every one-page report keeps: it loads nothing, runs nothing, and its pictures can be read without seeing them."""

import re


def require_nothing_loaded_and_nothing_run(content: str) -> None:
    assert not re.search(r"<script|<img|<link[^>]+stylesheet|@import|url\(|https?://|\son\w+=", content)
    assert "default-src 'none'" in content


def require_described_plots(content: str, count: int) -> None:
    plots = re.findall(r"<svg[^>]+>.*?</svg>", content, re.DOTALL)
    assert len(plots) == count
    for plot in plots:
        names = re.search(r'aria-labelledby="(\S+) (\S+)"', plot)
        assert names is not None
        assert f'<title id="{names[1]}">' in plot
        assert f'<desc id="{names[2]}">' in plot
    ids = re.findall(r'\sid="([^"]+)"', content)
    assert len(ids) == len(set(ids))
