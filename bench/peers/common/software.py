"""What the scripts of other software share: how those of PyTorch are started, and what each says of itself. Standard library alone."""

import importlib
import importlib.metadata
import os
import pathlib
import re
import sys

# Beginning of a library's file name -> what it is; of several OpenMPs that are loaded the first is the one that is used.
ALLOCATORS = {"libtcmalloc": "tcmalloc", "libjemalloc": "jemalloc"}
OPENMPS = {"libiomp5": "Intel's OpenMP", "libgomp": "GNU's OpenMP"}
TCMALLOC = "libtcmalloc_minimal.so.4"  # Debian: libtcmalloc-minimal4
PRELOADS = ("Intel's OpenMP", "tcmalloc")  # in this order


def with_preloads():
    """Starts the script anew with the OpenMP and the allocator that suit PyTorch, where they are installed and LD_PRELOAD isn't
    set: call it before anything is imported that uses them."""
    if "LD_PRELOAD" in os.environ:
        return
    found = [str(path) for path in preloads(pathlib.Path(sys.prefix)).values() if path]
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "LD_PRELOAD": ":".join(found)})


def preloads(folder):
    """Name -> file of each in the environment of that folder or in the system; None where it isn't installed."""
    openmp = folder / "lib" / "libiomp5.so"
    places = [pathlib.Path("/usr/lib64") / TCMALLOC, *sorted(pathlib.Path("/usr/lib").glob(f"*/{TCMALLOC}"))]
    tcmallocs = [path for path in places if path.exists()]
    return dict(zip(PRELOADS, (openmp if openmp.exists() else None, next(iter(tcmallocs), None))))


def told(*packages, settings=()):
    """What goes into the JSON of each script: versions of the packages, and its settings with the libraries it runs on."""
    versions = [f"{package} {importlib.metadata.version(package)}" for package in packages]
    loaded = pathlib.Path("/proc/self/maps").read_text()
    libraries = [first(names, loaded) for names in (ALLOCATORS, OPENMPS)]
    return {"version": ", ".join(versions), "settings": ", ".join(filter(None, [*settings, *libraries]))}


def first(names, loaded):
    return next((name for beginning, name in names.items() if re.search(rf"/{beginning}[-_.\w]*\.so", loaded)), "")


def mode(options):
    """How PyTorch is used; the script has --backend only where something else than its own compiler can be asked."""
    backend = getattr(options, "backend", "inductor")
    return "eager" if not options.compile else "compiled" if backend == "inductor" else f"compiled by {backend}"


def threads(options):
    return "1 thread" if options.threads == 1 else f"{options.threads} threads"


def compiled(network, backend="inductor"):
    """By torch.compile, the weights taken for constants, for batches of one size."""
    import torch
    from torch._inductor import config

    if backend != "inductor":
        importlib.import_module(backend)  # which makes itself known to PyTorch
    config.freezing = True
    return torch.compile(network, backend=backend, dynamic=False)
