"""Writes __init__.pyi into the folder of the built package: signatures with every option of each job.

    write_stubs.py FOLDER
"""
import importlib.util
import keyword
import pathlib
import sys

FRAME = '''"""Made when evener is built, from the options as the program declares them."""
import pathlib
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal

import numpy

__version__: str

class Error(RuntimeError): ...
class UsageError(Error): ...
class Interrupted(Error): ...

class Result:
    status: str
    reason: str
    folder: pathlib.Path | None
    record: dict[str, Any]
    summary: list[str]
    def table(self, name: str) -> Any: ...
    def rows(self, name: str) -> list[dict[str, str]]: ...

class Network:
    name: str
    input_shape: tuple[int, ...]
    classes: list[str]
    main_output: str
    notes: list[str]
    def __call__(self, array: Any, as_they_are: bool = False) -> dict[str, numpy.ndarray]: ...

def options(job: str) -> list[dict[str, Any]]: ...
'''
EVENTS = {"epoch": "dict[str, Any]", "step": "dict[str, Any]", "note": "str", "progress": "str", "answers": "str"}
# job of the module: its positional arguments with whether they may be left out, what it calls, what it returns
FUNCTIONS = {
    "train": (["model?"], ["epoch", "step", "note", "progress"], "Result"),
    "infer": (["model", "images?"], ["answers", "note", "progress"], "Result"),
    "faces": (["dir"], ["note", "progress"], "Result"),
    "detect": (["model", "images?"], ["answers", "note", "progress"], "Result"),
    "quantize": (["model"], ["note", "progress"], "Result"),
    "sweep": (["what"], ["note", "progress"], "Result"),
    "load": (["model"], [], "Network"),
}


def type_of(option):
    if option["choices"]:
        one = "Literal[" + ", ".join(repr(choice) for choice in option["choices"]) + "]"
    else:
        one = {"a whole number": "int", "a number": "float"}.get(option["value_kind"], "str | PathLike[str]")
    return {"switch": "bool", "value": one, "values": f"{one} | Sequence[{one}]", "switch or value": f"bool | {one}"}[
        option["kind"]]


def function(name, options):
    positional, events, returned = FUNCTIONS[name]
    by_name = {option["name"]: option for option in options}
    lines = []
    for argument in positional:
        one = argument.rstrip("?")
        lines.append(f"    {one}: {type_of(by_name.pop(one))}" + (" | None = None," if argument != one else ","))
    lines.append("    *,")
    lines += [f"    on_{event}: Callable[[{EVENTS[event]}], object] | None = None," for event in events]
    for option in by_name.values():
        argument = option["name"].replace("-", "_")
        if keyword.iskeyword(argument):
            argument += "_"
        lines.append(f"    {argument}: {type_of(option)} | None = None,  # {option['help']}")
    return "\n".join([f"def {name}(", *lines, f") -> {returned}: ..."])


def main(folder):
    # The module alone: the package would look for its wheels.
    file = next(folder.glob("_evener*.so"))
    spec = importlib.util.spec_from_file_location("_evener", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    parts = [FRAME] + [function(name, module.options_of(name)) for name in FUNCTIONS]
    (folder / "__init__.pyi").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
