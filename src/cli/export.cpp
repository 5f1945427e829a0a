// evener export MODEL --onnx FILE: a trained network for other software.
#include <memory>

#include "cli/command.h"
#include "cli/progress.h"
#include "job/export/export_job.h"

namespace evener::cli {

Command export_command() {
  const auto flags = std::make_shared<job::ExportFlags>();
  return {
      .name = "export",
      .summary = "Write a trained network as an ONNX file, for other software",
      .options = flags->options(),
      .footer =
          "Names of classes, mean and deviation go into the file's metadata; the batch stays open. The file is run\n"
          "once, and the largest difference from our own answers is printed.\n\n"
          "Examples:\n"
          "  evener export runs/a --onnx fish.onnx\n"
          "  evener export runs/a --onnx fish.onnx --normalize-inside\n"
          "  evener export resnet18 --weights resnet18.pth --normalize imagenet --onnx resnet18.onnx\n"
          "  evener export mobilenet_v2 --size 512x512 --onnx random.onnx\n",
      .run = [flags] {
        ProgressLine line(false);
        job::export_network(*flags, line);
        return 0;
      }};
}

}  // namespace evener::cli
