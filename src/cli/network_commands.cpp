// evener info, export, quantize, calibrate, share and serve: what is done with one network.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/names.h"
#include "base/plural.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "job/calibrate/calibration_job.h"
#include "job/export/export_job.h"
#include "job/info/info_job.h"
#include "job/quantize/quantization.h"
#include "job/serve/serve.h"
#include "job/share/share_job.h"
#include "network/zoo.h"
#include "record/record_json.h"

namespace evener::cli {
namespace {

int tell_info(const job::InfoFlags& flags) {
  const job::Description info = job::describe(flags);
  if (!write_json(*flags.json, info.json)) std::fputs(info.text.c_str(), stdout);
  return 0;
}

std::string models_text() {
  std::string text = "Models:\n";
  for (const network::ModelInfo& model : network::known_models())
    text += fmt::format("  {:<31}{}\n", model.name, model.description);
  return text;
}

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

int tell_quantize(job::QuantizeFlags& flags) {
  ProgressLine progress(*flags.output.quiet);
  const job::QuantizedRun run = job::quantize(flags, progress);
  if (write_json(*flags.output.json, record::to_json(run.record))) return 0;
  fmt::print("{}", job::comparison_text(run.comparison));
  for (const std::string& sentence : run.record.warnings) fmt::print("warning               {}\n", sentence);
  fmt::print("results               {}\n", run.folder.string());
  return 0;
}

std::string error_text(const record::CalibrationError& error) {
  std::string text = fmt::format("{:.2f} %", 100 * error.ece);
  if (error.ece_by_chance) {
    text += fmt::format(" (a perfectly calibrated network: up to {:.2f})", 100 * *error.ece_by_chance);
  }
  return text + fmt::format("; of bins of equally many images {:.2f} %", 100 * error.ece_equal_mass);
}

void print_calibration(const job::CalibratedNetwork& network) {
  const record::CalibrationRecord& found = network.figures;
  fmt::print("temperature               {:.4g}, fitted to {} images\n", found.temperature, found.fitted_images);
  fmt::print("judged on                 {} images: {}\n", found.judged_images, found.judged);
  fmt::print("calibration error before  {}\n", error_text(found.before));
  fmt::print("                   after  {}\n", error_text(found.after));
  fmt::print("likelihood loss           {:.4f} before, {:.4f} after\n", found.before.negative_log_likelihood,
             found.after.negative_log_likelihood);
  if (!found.no_unknown.empty()) {
    fmt::print("unknown                   nothing: {}\n", found.no_unknown);
  } else {
    fmt::print(
        "unknown                   by the features of {} training images; {:.1f} % of the known images, {:.3g} % "
        "wanted\n",
        found.statistics_images, 100 * found.known_unknown.value_or(0), 100 * found.unknown_wanted);
  }
  if (const auto& unlike = found.unlike) {
    fmt::print(
        "unlike                    {:.1f} % of {} images called unknown; AUROC {:.1f} %; {:.1f} % pass where 95 % of "
        "known images do\n",
        100 * unlike->unknown_share, unlike->images, 100 * unlike->auroc, 100 * unlike->fpr95);
  }
  fmt::print("written                   {}\n", network.file.string());
}

constexpr const char* kServeFooter =
    R"(The Open Inference Protocol (KServe v2) over REST; docs/serving.md tells how to ask.

Examples:
  evener serve runs/a
  evener serve model.onnx --on cuda:0 --batch 32 --max-wait 2 --port 9000
  evener serve resnet18 --weights resnet18.pth --labels names.txt --precision bf16
  curl --data-binary @cat.jpg -H 'Content-Type: image/jpeg' \
       'http://127.0.0.1:8000/v2/models/resnet18/infer?classification=5')";

int tell_serve(const job::ServeFlags& flags) {
  PromptLine progress(*flags.server.quiet);
  const job::ServedTotals totals = job::serve(flags, progress);
  progress.note(fmt::format("ended after {}: {}, {} in {}, all that was accepted answered",
                            duration_text(totals.seconds), counted(totals.requests, "request"),
                            counted(totals.samples, "sample"), counted(totals.batches, "batch", "batches")));
  if (!totals.energy.empty()) progress.note(totals.energy);
  return 0;
}

}  // namespace

Command info_command() {
  const auto flags = std::make_shared<job::InfoFlags>();
  return {.name = "info",
          .summary = "Show a model's layers, shapes, parameters, FLOPs and memory; or what a run or a file holds",
          .options = flags->options(),
          .footer = models_text() +
                    "\nExamples:\n"
                    "  evener info resnet34\n"
                    "  evener info resnet34 --size 197x148 --channels 1 --classes 9\n"
                    "  evener info mlp:784-256-10 --json -\n"
                    "  evener info runs/a\n"
                    "  evener info resnet18.pth\n",
          .run = [flags] { return tell_info(*flags); }};
}

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
      .complete = [flags](job::Observer& line) { job::complete(*flags, &line); },
      .run =
          [flags] {
            ProgressLine line(false);
            job::export_network(*flags, line);
            return 0;
          }};
}

Command quantize_command() {
  const auto flags = std::make_shared<job::QuantizeFlags>();
  return {.name = "quantize",
          .summary = "Quantise a trained network to int8 (PTQ), and tell what that changes",
          .options = flags->options(),
          .footer = kQuantizeExamples,
          .complete = [flags](job::Observer& line) { job::complete(*flags, &line); },
          .run = [flags] { return tell_quantize(*flags); }};
}

Command calibrate_command() {
  const auto flags = std::make_shared<job::CalibrateFlags>();
  return {
      .name = "calibrate",
      .summary = "Make a classifier's probabilities hold, and let it know what is unknown to it",
      .options = flags->options(),
      .footer =
          "A temperature is fitted to the validation part, and judged on the test part, or crosswise on halves of the\n"
          "validation part. What is like none of the training images, by the features of the network, is called\n"
          "unknown. Both are kept in a file beside the weights, which infer, serve and export use from then on;\n"
          "--uncalibrated leaves it out. 'evener train' does the same at its end.\n\n"
          "Examples:\n"
          "  evener calibrate runs/ants\n"
          "  evener calibrate runs/ants --unlike holidays/ --unknown 0.02\n"
          "  evener calibrate resnet20 --weights resnet20.th --normalize imagenet --data cifar/ --split 40/30/30\n",
      .complete = [flags](job::Observer& line) { job::complete(*flags, &line); },
      .run =
          [flags] {
            ProgressLine line(*flags->output.quiet);
            const job::CalibratedNetwork network = job::calibrate(*flags, line);
            const std::string& json = *flags->output.json;
            const bool is_on_stdout =
                !json.empty() && write_json_text(json, record::calibration_text(network.figures) + "\n");
            if (!is_on_stdout) print_calibration(network);
            return 0;
          }};
}

Command share_command() {
  const auto flags = std::make_shared<job::ShareFlags>();
  return {.name = "share",
          .summary = "Write a page about a trained network: what it recognises, its mistakes, how to use it",
          .options = {flags.get()},
          .footer =
              "The page is one file, which opens offline and can be sent to anybody.\n\n"
              "Examples:\n"
              "  evener share runs/ants\n"
              "  evener share runs/ants --html ants.html\n",
          .run = [flags] {
            ProgressLine progress(false);
            fmt::print("page                      {}\n", job::share(*flags, progress).string());
            return 0;
          }};
}

Command serve_command() {
  const auto flags = std::make_shared<job::ServeFlags>();
  return {.name = "serve",
          .summary = "Answer over HTTP with a trained network",
          .options = flags->options(),
          .footer = kServeFooter,
          .complete = [flags](job::Observer& line) { job::complete(*flags, &line); },
          .run = [flags] { return tell_serve(*flags); }};
}

}  // namespace evener::cli
