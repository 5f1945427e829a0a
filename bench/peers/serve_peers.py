#!/usr/bin/env python3
"""Serves torchvision's ResNet-18, through torch.compile, with FastAPI and one worker of uvicorn; says its address on stdout,
and behind it as JSON what it is.

Run by bench/peers/run in its own environment. As in a service that is written with care: pictures are decoded in threads, and the
network runs in one thread of its own with all of PyTorch's threads, so that calls don't disturb each other or the loop of events.
With --freeze torch.compile takes the weights for constants, which is an experimental setting of its backend.
"""

import argparse
import asyncio
import concurrent.futures
import io
import json
import pathlib
import socket

from common import software

software.with_preloads()

import fastapi  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
import torchvision  # noqa: E402
import uvicorn  # noqa: E402
from PIL import Image  # noqa: E402
from torch._inductor import config as inductor  # noqa: E402

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def parse():
    parser = argparse.ArgumentParser(description="Serves ResNet-18.")
    parser.add_argument("weights", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--freeze", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    torch.set_num_threads(options.threads)
    inductor.freezing = options.freeze
    network = torchvision.models.resnet18()
    network.load_state_dict(torch.load(options.weights))
    network = torch.compile(network.eval().to(memory_format=torch.channels_last))
    transforms = torchvision.transforms
    normalize = transforms.Normalize(MEAN, DEVIATION)
    prepare = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), normalize])
    lane = concurrent.futures.ThreadPoolExecutor(1)
    app = fastapi.FastAPI()

    def decode(body):
        return prepare(Image.open(io.BytesIO(body)).convert("RGB"))

    def scores_of(image):
        with torch.inference_mode():
            return network(image[None].contiguous(memory_format=torch.channels_last))[0].tolist()

    @app.post("/bytes")
    async def of_bytes(request: fastapi.Request):
        pixels = numpy.frombuffer(await request.body(), numpy.uint8).reshape(3, 224, 224)
        image = normalize(torch.from_numpy(pixels.astype(numpy.float32) / 255))
        return {"output": await asyncio.get_running_loop().run_in_executor(lane, scores_of, image)}

    @app.post("/picture")
    async def of_picture(request: fastapi.Request):
        image = await asyncio.to_thread(decode, await request.body())
        return {"output": await asyncio.get_running_loop().run_in_executor(lane, scores_of, image)}

    lane.submit(scores_of, torch.zeros(3, 224, 224)).result()  # compiles
    listener = socket.create_server(("127.0.0.1", 0))
    settings = ["compiled, weights frozen" if options.freeze else "compiled", "channels_last", "1 worker", software.threads(options)]
    told = software.told("fastapi", "uvicorn", "torch", "torchvision", settings=settings)
    print(f"http://127.0.0.1:{listener.getsockname()[1]} {json.dumps(told)}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run([listener])


if __name__ == "__main__":
    main()
