// evener export MODEL --onnx FILE: a trained network for other software.
#include "task/export.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "base/stop.h"
#include "base/tensor.h"
#include "cli/command.h"
#include "job/options/image_size.h"
#include "task/normalization.h"
#include "task/trained_model.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

struct ExportFlags : job::OptionGroup {
  ExportFlags() : job::OptionGroup("Export") {}

  job::Option<std::string> model{
      *this,
      {"MODEL", "MODEL",
       "A run's folder (its best weights), a .safetensors file of one, or a network such as resnet18"},
      "",
      {.required = true}};
  job::Option<std::string> onnx{*this, {"--onnx", "FILE.onnx", "File to write"}, "", {.required = true}};
  job::Option<std::string> weights{
      *this, {"--weights", "FILE", "Weights of a network: safetensors, or a state dict saved by PyTorch"}};
  job::Option<std::string> size{*this, {"--size", "WIDTHxHEIGHT", "Image size in pixels (default: as it was trained)"}};
  job::Option<std::optional<std::int64_t>> channels{
      *this, {"--channels", "N", "Image channels (default: as it was trained)"}, {}, {.range = job::from_to(1, 4096)}};
  job::Option<std::optional<std::int64_t>> classes{
      *this,
      {"--classes", "N", "Number of classes (default: as the weights have)"},
      {},
      {.range = job::from_to(1, 16777216)}};
  job::Option<std::string> normalize{*this,
                                     {"--normalize", "RULE",
                                      "Mean and deviation of images: imagenet, MEAN/STD such as 0.5/0.25, or pixels "
                                      "(default: as the weights' file says)"}};
  job::Option<bool> normalize_inside{
      *this,
      {"--normalize-inside", "",
       "The file takes pixels from 0 to 255 and normalises them itself (otherwise it takes normalised ones)"}};
  job::Option<bool> overwrite{*this, {"--overwrite", "", "Replace the file if it exists"}};

  task::ModelRequest request() const {
    task::ModelRequest request{.model = *model, .weights = *weights, .channels = *channels, .classes = *classes};
    if (!size->empty()) {
      const job::ImageSize asked = job::parse_image_size(*size);
      request.width = asked.width;
      request.height = asked.height;
    }
    return request;
  }

 private:
  void check_together() const override {
    if (fs::path(*onnx).extension() != ".onnx") {
      throw UsageError("--onnx '" + *onnx + "' has to end in .onnx: by that name other software knows it");
    }
    if (fs::exists(*onnx) && !*overwrite) {
      throw UsageError("'" + *onnx + "' exists; choose another name, or replace it with --overwrite");
    }
    if (task::parse_normalization(*normalize).source == task::NormalizationRule::Source::kData) {
      throw UsageError("--normalize data needs training images; an export takes imagenet, or MEAN/STD");
    }
  }
};

std::optional<data::ChannelStatistics> normalization_of(const ExportFlags& flags, const task::TrainedModel& model) {
  const task::NormalizationRule rule = task::parse_normalization(*flags.normalize);
  if (rule.source != task::NormalizationRule::Source::kGiven) return model.normalization;
  const network::Shape& input = model.network.input_shape();
  if (input.size() == 3) return task::for_channels(rule, input.front());
  throw UsageError(
      fmt::format("{} takes vectors here, which have no channels to normalise; leave out --normalize, or "
                  "give it images with --size WIDTHxHEIGHT",
                  model.network.model()));
}

std::string input_text(const network::Network& network, const task::ExportOptions& options) {
  const std::string shape = "Nx" + shape_text(network.input_shape());
  if (network.input_shape().size() == 1) return shape + " (N, F)";
  const char* values = options.normalize_inside ? "pixels from 0 to 255"
                       : options.normalization  ? "pixels as (value / 255 - mean) / deviation"
                                                : "normalised pixels (how is not known; --normalize tells it)";
  return shape + " (N, C, H, W), " + values;
}

/// After Ctrl-C there is the whole file or, where it had not been begun, none.
void end_where_stopped(const std::string& what) {
  if (stop_requested()) throw Interrupted("interrupted: " + what);
}

int run_export(const ExportFlags& flags) {
  const fs::path onnx = *flags.onnx;
  task::require_export(onnx);
  const task::TrainedModel model = task::open_trained_model(flags.request());
  end_where_stopped("nothing was written");
  for (const std::string& note : model.notes) fmt::print(stderr, "evener: {}\n", note);
  const task::ExportOptions options{onnx, normalization_of(flags, model), *flags.normalize_inside};
  task::write_export(model, options);
  end_where_stopped(*flags.onnx + " is whole, but was not run to check it");
  const network::Network& network = model.network;
  fmt::print("{}{} written to {} ({}): input {}; {}\n", network.model(),
             model.weights.empty() ? " with random weights" : " with the weights of " + model.weights.string(),
             *flags.onnx, bytes_text(fs::file_size(onnx)), input_text(network, options), outputs_text(network));
  std::fflush(stdout);
  if (const std::string refusal = task::export_check_refusal(); !refusal.empty()) {
    fmt::print(stderr, "evener: {} was not run: {}\n", *flags.onnx, refusal);
    return 0;
  }
  const task::ExportCheck check = task::check_export(model, options);
  end_where_stopped(*flags.onnx + " is whole");
  fmt::print("OpenVINO runs it: largest difference {:.2g} where outputs reach {:.3g}\n", check.largest_difference,
             check.largest_output);
  return 0;
}

}  // namespace

Command export_command() {
  const auto flags = std::make_shared<ExportFlags>();
  return {
      .name = "export",
      .summary = "Write a trained network as an ONNX file, for other software",
      .options = {flags.get()},
      .footer =
          "Names of classes, mean and deviation go into the file's metadata; the batch stays open. The file is run\n"
          "once, and the largest difference from our own answers is printed.\n\n"
          "Examples:\n"
          "  evener export runs/a --onnx fish.onnx\n"
          "  evener export runs/a --onnx fish.onnx --normalize-inside\n"
          "  evener export resnet18 --weights resnet18.pth --normalize imagenet --onnx resnet18.onnx\n"
          "  evener export mobilenet_v2 --size 512x512 --onnx random.onnx\n",
      .run = [flags] { return run_export(*flags); }};
}

}  // namespace evener::cli
