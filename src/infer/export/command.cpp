// evener export: writes a trained network for other software.
#include "options/command.h"

#include <memory>

#include "infer/export/export_job.h"
#include "options/progress_line.h"

namespace evener::inference {

Command export_command() {
  const auto flags = std::make_shared<ExportFlags>();
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
      .complete = [flags](measure::Observer& line) { complete(*flags, &line); },
      .run =
          [flags] {
            ProgressLine line(false);
            export_network(*flags, line);
            return 0;
          }};
}

}  // namespace evener::inference
