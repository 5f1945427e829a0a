#!/usr/bin/env python3
"""Writes torch/ beside it: files of torch.save in both of its formats, and what PyTorch reads in them.

Run by hand when a case is added, with the Python environment of make_golden.py; the files are committed:

    /tmp/golden/bin/python tests/golden/make_torch_files.py

torch/expected.safetensors holds each tensor as "FILE:NAME", dense and row-major, bool as uint8. Values are small whole
numbers, exact in every type, so the test compares bytes.
"""

import collections
import io
import json
import pathlib
import struct
import zipfile

import torch

FOLDER = pathlib.Path(__file__).parent / "torch"
KINDS = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.uint8: "U8", torch.bool: "U8", torch.int32: "I32", torch.int64: "I64",
}  # fmt: skip


def counted(*shape, dtype=torch.float32):
    count = 1
    for extent in shape:
        count *= extent
    return (torch.arange(count) % 251 + 1).reshape(shape).to(dtype)


def all_types():
    """One tensor of each type that a HostTensor can hold, and odd shapes."""
    state = collections.OrderedDict()
    for dtype in KINDS:
        name = str(dtype).split(".")[1]
        state[name] = counted(2, 3, dtype=dtype) if dtype != torch.bool else torch.tensor([[True, False, True]])
    state["scalar"] = torch.tensor(42)
    state["empty"] = torch.zeros(0, 5)
    return state


def views():
    """Tensors that are not dense, that begin within their memory, and that share it."""
    base = counted(4, 5, 6)
    state = collections.OrderedDict()
    state["whole"] = base
    state["transposed"] = base.transpose(0, 2)
    state["permuted"] = base.permute(1, 2, 0)
    state["row"] = base[2, 3]
    state["column"] = base[:, 1, 4]
    state["every_other"] = base[::2, ::3, 1::2]
    state["channels_last"] = counted(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    state["expanded"] = torch.tensor([7.0]).expand(3, 4)
    state["one"] = base[1:2, 2:3, 3:4]
    return state


def model_state():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Linear(4, 2))
    return model.state_dict()  # an OrderedDict with an attribute, _metadata


def checkpoint():
    state = collections.OrderedDict(("module." + name, value) for name, value in model_state().items())
    optimizer = {"state": {0: {"momentum_buffer": counted(3)}}, "param_groups": [{"lr": 0.1, "params": [0, 1]}]}
    return {"epoch": 3, "arch": "net", "best_acc1": torch.tensor(91.5), "state_dict": state, "optimizer": optimizer}


def parameters():
    return {"w": torch.nn.Parameter(counted(2, 2)), "frozen": torch.nn.Parameter(counted(3), requires_grad=False)}


CASES = {
    "types": all_types(),
    "views": views(),
    "model": model_state(),
    "checkpoint": checkpoint(),
    "parameters": parameters(),
}


def tensors_of(saved):
    for key in ("state_dict", "model"):
        if key in saved and isinstance(saved[key], dict):
            return saved[key]
    return saved


def deflated(source):
    """The archive again, its entries packed and with data descriptors, as other tools may write it."""
    target = io.BytesIO()

    class Unseekable(io.RawIOBase):  # makes zipfile write data descriptors
        def writable(self):
            return True

        def write(self, data):
            return target.write(data)

    with zipfile.ZipFile(source) as old, zipfile.ZipFile(Unseekable(), "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
    return target.getvalue()


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in sorted(tensors.items()):
        tensor = tensor.detach().contiguous()
        kind = KINDS[tensor.dtype]
        raw = bytes(tensor.to(torch.uint8 if tensor.dtype == torch.bool else tensor.dtype).view(-1).view(torch.uint8).tolist()) if tensor.numel() else b""
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    FOLDER.mkdir(exist_ok=True)
    expected = {}
    for name, saved in CASES.items():
        torch.save(saved, FOLDER / f"{name}_zip.pt")
        torch.save(saved, FOLDER / f"{name}_legacy.pt", _use_new_zipfile_serialization=False)
        for key, tensor in tensors_of(torch.load(FOLDER / f"{name}_zip.pt", weights_only=True)).items():
            expected[f"{name}:{key}"] = tensor
    # Pickles of the newer protocols, and an archive as other tools write it.
    torch.save(CASES["model"], FOLDER / "protocol4_zip.pt", pickle_protocol=4)
    torch.save(CASES["model"], FOLDER / "protocol4_legacy.pt", pickle_protocol=4, _use_new_zipfile_serialization=False)
    (FOLDER / "deflated_zip.pt").write_bytes(deflated(FOLDER / "model_zip.pt"))
    torch.save({"weights": torch.zeros(2, dtype=torch.complex64)}, FOLDER / "complex_zip.pt")
    torch.save({"model": torch.nn.Linear(2, 2)}, FOLDER / "whole_model_zip.pt")
    write_safetensors(FOLDER / "expected.safetensors", expected)


if __name__ == "__main__":
    main()
