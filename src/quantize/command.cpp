// evener quantize: a trained network in int8, and what that changes.
#include "options/command.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "options/output.h"
#include "options/progress_line.h"
#include "quantize/quantization.h"
#include "record/record_json.h"

namespace evener::quantization {
namespace {

constexpr const char* kQuantizeExamples =
    R"(The folder that is written, or the file in it, is what infer, detect and export take; faces --weights takes the file.
What is written can be trained on ('evener train MODEL --weights FILE'), and a run that learnt with quantisation becomes
a file of int8 weights here. Of another program's file (.onnx, .tflite, .xml) comes quantized.onnx.

Examples:
  evener quantize runs/a                                calibrated and evaluated on the data of runs/a
  evener quantize resnet20 --weights resnet20.th --normalize imagenet --data cifar/ --out runs/int8
  evener quantize runs/a --calibration entropy --images 500
  evener quantize runs/a --accuracy-drop 0.5%           layers stay in float until at most half a point is lost
  evener quantize runs/a --keep first --keep last --weight-bits 4
  evener quantize mobilenet_v2.tflite --data photos/ --out runs/int8
  evener infer runs/int8 photos/)";

int tell_quantize(QuantizeFlags& flags) {
  ProgressLine progress(*flags.output.quiet);
  const QuantizedRun run = quantize(flags, progress);
  if (write_json(*flags.output.json, record::to_json(run.record))) return 0;
  fmt::print("{}", comparison_text(run.comparison));
  for (const std::string& sentence : run.record.warnings) fmt::print("warning               {}\n", sentence);
  fmt::print("results               {}\n", run.folder.string());
  return 0;
}

}  // namespace

Command quantize_command() {
  const auto flags = std::make_shared<QuantizeFlags>();
  return {.name = "quantize",
          .summary = "Quantise a trained network to int8 (PTQ), and tell what that changes",
          .options = flags->options(),
          .footer = kQuantizeExamples,
          .measured = measured_quantize,
          .complete = [flags](measure::Observer& line) { complete(*flags, &line); },
          .run = [flags] { return tell_quantize(*flags); }};
}

}  // namespace evener::quantization
