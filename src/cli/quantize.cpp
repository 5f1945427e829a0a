// evener quantize: a trained network with 8-bit weights and activations, and what that changes.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "job/quantize/quantization.h"
#include "record/record_json.h"

namespace evener::cli {
namespace {

constexpr const char* kQuantizeExamples =
    R"(The folder that is written, or the file in it, is what infer, detect and export take; faces --weights takes the file.
What is written can be trained on ('evener train MODEL --weights FILE'), and a run that learnt with quantisation becomes
a file of int8 weights here. Of another program's file (.onnx, .tflite, .xml) comes quantized.onnx.

Examples:
  evener quantize runs/a                                calibrated and evaluated on the data of runs/a
  evener quantize resnet20 --weights resnet20.th --normalize imagenet --data cifar/ --out runs/int8
  evener quantize runs/a --calibration entropy --images 500
  evener quantize runs/a --accuracy-drop 0.5            layers stay in float until at most half a point is lost
  evener quantize runs/a --keep first --keep last --weight-bits 4
  evener quantize mobilenet_v2.tflite --data photos/ --out runs/int8
  evener infer runs/int8 photos/)";

int tell_quantize(job::QuantizeFlags& flags) {
  ProgressLine progress(*flags.output.quiet);
  const job::QuantizedRun run = job::quantize(flags, progress);
  if (write_json(*flags.output.json, record::to_json(run.record))) return 0;
  fmt::print("{}results               {}\n", job::comparison_text(run.comparison), run.folder.string());
  return 0;
}

}  // namespace

Command quantize_command() {
  const auto flags = std::make_shared<job::QuantizeFlags>();
  return {.name = "quantize",
          .summary = "Quantise a trained network to int8 (PTQ), and tell what that changes",
          .options = flags->options(),
          .footer = kQuantizeExamples,
          .complete = [flags] { job::complete(*flags); },
          .run = [flags] { return tell_quantize(*flags); }};
}

}  // namespace evener::cli
