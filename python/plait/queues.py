"""Which queues messages can be put on here: the drivers are asked, as libplait asks them when a stream of theirs first appears."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

# CUDA's and HIP's numbers.
STREAM_MEMORY_OPERATIONS = 122  # CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS
HIP_LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
# OpenCL's.
PLATFORM_NAME, DEVICE_NAME = 0x0902, 0x102B
ALL_DEVICES = 0xFFFFFFFF


def gather() -> dict[str, str]:
    return {"plait_queue": "yes", "cudaStream_t": _cuda(), "hipStream_t": _hip(), "cl_command_queue": _opencl()}


def _load(*names: str) -> ctypes.CDLL:
    missing = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            missing.append(error)
    raise missing[0]


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode(errors="replace")


def _cuda() -> str:
    try:
        driver = _load("libcuda.so.1")
    except OSError as error:
        return f"no: {error}"
    count = ctypes.c_int()
    if code := driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return f"no: libcuda.so.1 finds no device (error {code})"
    return ", ".join(_cuda_device(driver, i) for i in range(count.value)) or "no: libcuda.so.1 finds no device"


def _cuda_device(driver: ctypes.CDLL, number: int) -> str:
    device, has, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
    driver.cuDeviceGet(ctypes.byref(device), number)
    driver.cuDeviceGetName(name, len(name), device)
    driver.cuDeviceGetAttribute(ctypes.byref(has), STREAM_MEMORY_OPERATIONS, device)
    return f"{_text(name.raw)}, by {'operations on memory' if has.value else 'functions on the host'}"


def _hip() -> str:
    try:
        library = _load(*HIP_LIBRARIES)
    except OSError as error:
        return f"no: {error}"
    count = ctypes.c_int()
    if (code := library.hipGetDeviceCount(ctypes.byref(count))) or not count.value:
        return f"no: {HIP_LIBRARIES[0]} finds no device (error {code})"
    return f"{count.value} device{'s'[: count.value > 1]}"


def _opencl() -> str:
    try:
        library = _load("libOpenCL.so.1")
    except OSError as error:
        return f"no: {error}"
    return ", ".join(_opencl_devices(library)) or "no: libOpenCL.so.1 knows no device"


def _opencl_devices(library: ctypes.CDLL) -> Iterator[str]:
    for platform in _objects(library.clGetPlatformIDs):
        name = _name(library.clGetPlatformInfo, platform, PLATFORM_NAME)
        for device in _objects(library.clGetDeviceIDs, platform, ctypes.c_uint64(ALL_DEVICES)):
            yield f"{_name(library.clGetDeviceInfo, device, DEVICE_NAME)} ({name})"


def _objects(call, *first) -> list[ctypes.c_void_p]:
    count = ctypes.c_uint32()
    if call(*first, 0, None, ctypes.byref(count)):
        return []
    found = (ctypes.c_void_p * count.value)()
    return [ctypes.c_void_p(one) for one in found] if not call(*first, count, found, None) else []


def _name(call, which: ctypes.c_void_p, what: int) -> str:
    name = ctypes.create_string_buffer(256)
    return _text(name.raw).strip() if not call(which, what, ctypes.c_size_t(len(name)), name, None) else "?"
