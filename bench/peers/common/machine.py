"""What this machine is, and whether others are using it."""

import os
import pathlib
import time


def cores():
    """Physical cores that this process may use."""
    seen = set()
    for cpu in os.sched_getaffinity(0):
        topology = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        try:
            seen.add((topology / "physical_package_id").read_text() + (topology / "core_id").read_text())
        except OSError:
            seen.add(str(cpu))
    return max(1, min(len(seen), quota() or len(seen)))


def cpus():
    """Logical CPUs that this process may use."""
    return sorted(os.sched_getaffinity(0))


def has_bf16():
    """Whether the processor multiplies bfloat16; where it doesn't, bf16 is emulated, and many times slower than fp32."""
    flags = _flags()
    return "avx512_bf16" in flags or "amx_bf16" in flags


def has_avx512():
    return "avx512f" in _flags()


def is_amd():
    return any(line.startswith("vendor_id") and "AMD" in line for line in _lines("/proc/cpuinfo"))


def zen():
    """The generation of AMD's cores, "Zen 4", which virtual machines hide behind "AMD EPYC"; None for others."""
    family = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("cpu family")), "")
    if not is_amd() or family not in ("25", "26"):
        return None
    return "Zen 5" if family == "26" else "Zen 4" if has_avx512() else "Zen 3"


def _flags():
    return next((line for line in _lines("/proc/cpuinfo") if line.startswith("flags")), "").split()


def quota():
    """CPUs that the control group allows, rounded up; 0 = no limit known."""
    try:
        limit, period = pathlib.Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return 0 if limit == "max" else -(-int(limit) // int(period))
    except (OSError, ValueError):
        return 0


def describe():
    model = next((line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    memory = next((int(line.split()[1]) * 1024 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), None)
    return {
        "cpu": model,
        "amx": "amx_bf16" in _flags(),
        "zen": zen(),
        "cores": cores(),
        "logical_cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": memory,
        "kernel": os.uname().release,
        "load_1min": os.getloadavg()[0],
    }


def text(description):
    memory = description["memory_bytes"]
    size = f", {memory / 1e9:.0f} GB" if memory else ""
    return f"{description['cpu']}, {description['cores']} cores{size}, load {description['load_1min']:.2f} at the start"


def busy_share(seconds):
    """Share of the machine's CPU time that is in use, watched for so long; call it while nothing of ours runs."""

    def read():
        values = [int(value) for value in _lines("/proc/stat")[0].split()[1:9]]
        return sum(values), values[3] + values[4]  # all, idle and waiting

    total, idle = read()
    time.sleep(seconds)
    total_after, idle_after = read()
    passed = total_after - total
    return 1 - (idle_after - idle) / passed if passed > 0 else 0.0


def _lines(path):
    try:
        return pathlib.Path(path).read_text().splitlines() or [""]
    except OSError:
        return [""]
