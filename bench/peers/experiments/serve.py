"""Answers over HTTP: evener serve beside FastAPI with torchvision's network, a picture a request."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import statistics
import time
from dataclasses import dataclass

from common import compare
from common.context import Failure, Measured, say

from . import answers

TITLE = "Answers over HTTP: ResNet-18 at 224x224, fp32, one picture a request, 16 connections"
NEEDS_PEERS = True
THEME = "inference"
NEEDS_PYTHON = (3, 11)  # FastAPI's

TARGET = 2.0
CONNECTIONS = 16
WARM_UP_S = 1
READY_S = 600  # torch.compile takes a minute or more
INFER = "/v2/models/resnet18/infer"


def run(context):
    comparisons, differences = [], {}
    with context.folder() as folder, contextlib.ExitStack() as ends:
        folder = pathlib.Path(folder)
        context.peer("pytorch_load.py", folder, "--make", 1)
        expected = context.peer("answers_peers.py", "pytorch", folder, "--network", "resnet18", "--images", 1)["answers"]["output"]
        servers = started_all(context, ends, folder / "weights.pth")
        for label, requests in requests_of(folder).items():
            sides = {name: (server, *requests[name == "evener"]) for name, server in servers.items()}
            if label == "bytes":  # decoders of JPEG files differ
                differences = check(expected[0], {name: scores_of(*side) for name, side in sides.items()})
            comparisons += of_body(context, label, sides)
    return {"connections": CONNECTIONS, "differences": differences, "comparisons": [one.json() for one in comparisons]}


def started_all(context, ends, weights):
    """All stay up through all rounds: one that nobody asks takes nothing of the processor."""
    threads = context.threads
    peer = (context.python, context.root / "bench" / "peers" / "serve_peers.py", weights, "--threads", threads)
    words = ("--weights", weights, "--normalize", "imagenet", "--on", f"cpu/t{threads}", "--port", 0, "--quiet")
    return {
        "evener": started(context, ends, context.program, "serve", "resnet18", *words),
        "torch.compile": started(context, ends, *peer),
        "torch.compile, frozen": started(context, ends, *peer, "--freeze"),
    }


@dataclass
class Server:
    pid: int
    address: str
    version: str = ""
    settings: str = ""

    def processor_s(self):
        """That it has used so far."""
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def started(context, ends, *command):
    """A server that is ready, which goes with `ends`."""
    process, line = context.started(ends, READY_S, *command)
    address, _, told = line.removeprefix("http://").partition(" ")
    return Server(process.pid, address, **json.loads(told or "{}"))


def requests_of(folder):
    """(path, body, headers) for the peers and for evener, of each kind of body."""
    pixels = (folder / "images.npy").read_bytes()[-3 * 224 * 224 :]  # behind the file's head
    picture = next(folder.glob("**/*.jpg")).read_bytes()
    tensor = {"name": "input", "datatype": "UINT8", "shape": [1, 3, 224, 224], "parameters": {"binary_data_size": len(pixels)}}
    head = json.dumps({"inputs": [tensor]}).encode()
    length, kind = {"Inference-Header-Content-Length": str(len(head))}, {"Content-Type": "image/jpeg"}
    return {
        "bytes": (("/bytes", pixels, {}), (INFER, head + pixels, length)),
        "JPEG": (("/picture", picture, kind), (INFER, picture, kind)),
    }


def ask(connection, path, body, headers):
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    told = answer.read()
    if answer.status != 200:
        raise Failure(f"{path} was answered with {answer.status}: {told[:300].decode(errors='replace')}")
    return told


def scores_of(server, *request):
    with contextlib.closing(http.client.HTTPConnection(server.address)) as connection:
        output = json.loads(ask(connection, *request))
    return output["outputs"][0]["data"] if "outputs" in output else output["output"]


def check(expected, scores):
    """How far each side's answer to the bytes is from PyTorch's own, of the largest: both must do the same work."""
    apart = {name: answers.largest_difference(found, expected) for name, found in scores.items()}
    if max(apart.values()) > answers.TARGET:
        raise Failure(f"the sides don't answer the same: {apart}, of the largest answer")
    return apart


def of_body(context, label, sides):
    """evener beside both peers; the one with frozen weights has no target."""
    seconds = 1 if context.quick else 5
    costs = {name: [] for name in sides}
    say(f"  {label}")
    calls = {name: lambda name=name, side=side: rate(*side, seconds, costs[name]) for name, side in sides.items()}
    rates = compare.interleaved(context, "requests/s", calls)
    ours = rates["evener"]
    job = f"ResNet-18 answers over HTTP, 3x224x224, {label}"
    comparisons = [
        compare.of_rates(label, "requests/s", target, ours, peer, job=job, against=f"FastAPI with {name}", precision="fp32")
        for target, (name, peer) in zip((TARGET, None), list(rates.items())[1:])
    ]
    for name, comparison in zip(list(rates)[1:], comparisons):
        print(compare.table([comparison], name), flush=True)
    told = "; ".join(f"{name} {statistics.median(values):.1f}" for name, values in costs.items())
    print(f"{label}, ms of processor time a request: {told}", flush=True)
    comparisons[0].notes.append(f"ms of processor time a request: {costs}")
    return comparisons


def rate(server, path, body, headers, seconds, costs):
    """Answers per second while all connections ask; appends what one cost the server, in ms of processor time, in which other
    programs count for less."""
    begin = time.monotonic() + WARM_UP_S
    end = begin + seconds

    def answered(_):
        count = 0
        with contextlib.closing(http.client.HTTPConnection(server.address)) as connection:
            while time.monotonic() < end:
                ask(connection, path, body, headers)
                count += begin <= time.monotonic() < end
        return count

    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as clients:
        counts = clients.map(answered, range(CONNECTIONS))
        time.sleep(begin - time.monotonic())
        before = server.processor_s()
        time.sleep(max(0, end - time.monotonic()))
        used = server.processor_s() - before
        count = sum(counts)
    costs.append(1e3 * used / max(1, count))
    return Measured(count / seconds, server.version, server.settings)
