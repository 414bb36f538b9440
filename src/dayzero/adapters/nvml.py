"""This machine's NVIDIA GPUs, through the driver's own library: nothing is installed for it, and nothing is changed by looking."""

import ctypes
from ctypes import byref, c_char_p, c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass
from typing import Final, Self

from dayzero.bench.telemetry.model import Gpu

_LIBRARY: Final = "libnvidia-ml.so.1"
# nvml.h
_CLOCK_SM: Final = 1
_CLOCK_MEMORY: Final = 2
_TEMPERATURE_GPU: Final = 0
_NAME_BYTES: Final = 96
_UUID_BYTES: Final = 96
_VERSION_BYTES: Final = 80


class _Memory(ctypes.Structure):
    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", c_uint), ("memory", c_uint))


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What does not change of a GPU while something runs on it; text is ``""`` and numbers are 0 where the driver does not say.

    Attributes:
        name: Its name.
        uuid: Its own number, as ``GPU-...``.
        driver: Version of the driver.
        vbios: Version of its firmware.
        ecc: Whether its memory corrects errors: ``on``, ``off`` or ``""``.
        mig: Whether it is divided: ``on``, ``off`` or ``""``.
        power_limit_w: Power that it may draw.
        sm_max_mhz: Highest clock.
    """

    name: str
    uuid: str
    driver: str
    vbios: str
    ecc: str
    mig: str
    power_limit_w: float
    sm_max_mhz: int


class GpusAbsentError(Exception):
    """There is no GPU to look at; its text says why."""


class Gpus:
    """The GPUs of this machine.

    Raises:
        GpusAbsentError: There is no driver library, it does not start, or it sees no GPU.
    """

    def __init__(self, library: str = _LIBRARY) -> None:
        try:
            self._nvml = ctypes.CDLL(library)
        except OSError:
            raise GpusAbsentError(f"no {library} on this machine") from None
        count = c_uint()
        if self._nvml.nvmlInit_v2() or self._nvml.nvmlDeviceGetCount_v2(byref(count)) or not count.value:
            raise GpusAbsentError(f"{library} sees no GPU")
        self._handles = tuple(self._handle(index) for index in range(count.value))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._nvml.nvmlShutdown()

    @property
    def names(self) -> tuple[str, ...]:
        """Give the name of each GPU."""
        return tuple(self._name(handle) for handle in self._handles)

    def look(self) -> tuple[Gpu, ...]:
        """Look at each GPU once; a figure that the driver does not give is 0."""
        return tuple(self._look(index, handle) for index, handle in enumerate(self._handles))

    def cards(self) -> tuple[Card, ...]:
        """Say what each GPU is."""
        return tuple(self._card(handle) for handle in self._handles)

    def _card(self, handle: c_void_p) -> Card:
        version = ctypes.create_string_buffer(_VERSION_BYTES)
        self._nvml.nvmlSystemGetDriverVersion(version, c_uint(_VERSION_BYTES))
        return Card(
            name=self._name(handle),
            uuid=self._text("nvmlDeviceGetUUID", handle, _UUID_BYTES),
            driver=version.value.decode("utf-8", "replace"),
            vbios=self._text("nvmlDeviceGetVbiosVersion", handle, _VERSION_BYTES),
            ecc=self._mode("nvmlDeviceGetEccMode", handle),
            mig=self._mode("nvmlDeviceGetMigMode", handle),
            power_limit_w=self._number("nvmlDeviceGetEnforcedPowerLimit", handle) / 1000,  # milliwatts
            sm_max_mhz=self._number("nvmlDeviceGetMaxClockInfo", handle, _CLOCK_SM),
        )

    def _text(self, function: str, handle: c_void_p, size: int) -> str:
        text = ctypes.create_string_buffer(size)
        if not hasattr(self._nvml, function):
            return ""
        failed = self._nvml[function](handle, ctypes.cast(text, c_char_p), c_uint(size))
        return "" if failed else text.value.decode("utf-8", "replace")

    def _mode(self, function: str, handle: c_void_p) -> str:
        current, pending = c_uint(), c_uint()
        if not hasattr(self._nvml, function):
            return ""
        failed = self._nvml[function](handle, byref(current), byref(pending))
        return "" if failed else ("off", "on")[min(current.value, 1)]

    def _handle(self, index: int) -> c_void_p:
        handle = c_void_p()
        if self._nvml.nvmlDeviceGetHandleByIndex_v2(c_uint(index), byref(handle)):
            raise GpusAbsentError(f"GPU {index} cannot be opened")
        return handle

    def _name(self, handle: c_void_p) -> str:
        return self._text("nvmlDeviceGetName", handle, _NAME_BYTES)

    def _number(self, function: str, handle: c_void_p, *which: int) -> int:
        value = c_uint()
        failed = self._nvml[function](handle, *map(c_uint, which), byref(value))
        return 0 if failed else value.value

    def _look(self, index: int, handle: c_void_p) -> Gpu:
        memory, utilization, reasons = _Memory(), _Utilization(), c_ulonglong()
        self._nvml.nvmlDeviceGetMemoryInfo(handle, byref(memory))
        self._nvml.nvmlDeviceGetUtilizationRates(handle, byref(utilization))
        self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle, byref(reasons))
        return Gpu(
            index=index,
            sm_mhz=self._number("nvmlDeviceGetClockInfo", handle, _CLOCK_SM),
            memory_mhz=self._number("nvmlDeviceGetClockInfo", handle, _CLOCK_MEMORY),
            power_w=self._number("nvmlDeviceGetPowerUsage", handle) / 1000,  # milliwatts
            temperature_c=self._number("nvmlDeviceGetTemperature", handle, _TEMPERATURE_GPU),
            memory_used_bytes=memory.used,
            busy=utilization.gpu / 100,
            throttle=reasons.value,
        )
