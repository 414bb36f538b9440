"""What the driver says of a GPU, against a stand-in for its library."""

import ctypes
from collections.abc import Callable

import pytest

from dayzero.adapters.nvml import Gpus


class Library:
    """NVML as the functions that are asked; each fills what it is pointed at, and gives 0."""

    def __init__(self, *without: str) -> None:
        self._without = without

    def __getitem__(self, name: str) -> Callable[..., int]:
        found: Callable[..., int] = getattr(self, name)
        return found

    def __getattr__(self, name: str) -> Callable[..., int]:
        numbers = {"nvmlDeviceGetEnforcedPowerLimit": 700_000, "nvmlDeviceGetMaxClockInfo": 1980}
        texts = {
            "nvmlDeviceGetName": b"NVIDIA H200",
            "nvmlDeviceGetUUID": b"GPU-0a1b",
            "nvmlDeviceGetVbiosVersion": b"96.00",
        }
        if name in self._without:
            raise AttributeError(name)
        if name in texts:
            return lambda _, text, __: ctypes.memmove(text, texts[name] + b"\0", len(texts[name]) + 1) * 0
        if name in numbers:
            return lambda *words: self._put(words[-1], numbers[name])
        if name == "nvmlSystemGetDriverVersion":
            return lambda text, _: setattr(text, "value", b"580.95") or 0
        if name in {"nvmlDeviceGetEccMode", "nvmlDeviceGetMigMode"}:
            return lambda _, current, __: self._put(current, int(name == "nvmlDeviceGetEccMode"))
        if name == "nvmlDeviceGetCount_v2":
            return lambda count: self._put(count, 1)
        return lambda *_: 0

    @staticmethod
    def _put(pointer, value) -> int:
        pointer._obj.value = value  # noqa: SLF001  (what byref points at)
        return 0


@pytest.mark.parametrize(("without", "mig"), [((), "off"), (("nvmlDeviceGetMigMode",), "")])
def test_a_card_is_described_as_far_as_the_driver_goes(monkeypatch, without, mig):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library(*without))
    (card,) = Gpus("libnvidia-ml.so.1").cards()
    assert (card.name, card.uuid, card.driver, card.vbios) == ("NVIDIA H200", "GPU-0a1b", "580.95", "96.00")
    assert (card.ecc, card.mig, card.power_limit_w, card.sm_max_mhz) == ("on", mig, 700.0, 1980)


def test_a_text_that_the_driver_does_not_have_is_empty(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library("nvmlDeviceGetVbiosVersion"))
    assert Gpus("libnvidia-ml.so.1").cards()[0].vbios == ""
