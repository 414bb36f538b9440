"""Zip archives and CSV text for tests."""

import io
import zipfile


def archive(members: dict[str, bytes]) -> bytes:
    """Pack a zip archive, deflated as wheels are."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


WHEEL = archive(
    {
        "vllm/__init__.py": b"from vllm.version import VERSION\n",
        "vllm/models/qwen3.py": b"class Qwen3:\n    pass\n",
        "vllm/models/deepseek_v3.py": b"class DeepseekV3:\n    pass\n",
        "vllm-0.26.0.dist-info/METADATA": b"Name: vllm\nVersion: 0.26.0\n",
    }
)
