// Rows of quantising.
#include "app/option_rows_helpers.h"

#include "infer/option_rows_helpers.h"
#include "quantize/quantization.h"

namespace evener::test {
namespace {

using nlohmann::json;

std::vector<OptionRow> quantizing() {
  const char* quantize = "quantize";
  const Words digits = {"--data", "synth:digits:100"};
  return {{quantize, {"--data", "synth:digits:50"}, "/data", "synth:digits:50"},
          {quantize, {"--calibration-data", "synth:digits:30"}, "/calibrating", 30, digits},
          {quantize, {"--calibration-data", "synth:digits:30"}, "/evaluated", 100, digits},
          {quantize, {"--images", "45"}, "/images", 45},
          {quantize, {"--split", "50/20/30"}, "/calibrating", 50, digits},
          {quantize, {"--split", "50/20/30"}, "/evaluated", 30, digits},
          {quantize, {"--seed", "7"}, "/names", nullptr, digits},
          {quantize, {"--calibration", "entropy"}, "/calibration", 2},
          {quantize, {"--percentile", "97.5%"}, "/percentile", 97.5},
          {quantize, {"--weight-bits", "5"}, "/weight_bits", 5},
          {quantize, {"--keep", "first"}, "test:QuantizeCommand.ARunBecomesAFileThatOtherCommandsTake"},
          {quantize, {"--accuracy-drop", "2.5%"}, "/most_lost", 0.025},
          {quantize, {"--decoder", "rows"}, "test:DetectFiles.WhatIsQuantisedIsReadAsItsDecoderSays"},
          {quantize, {"--no-bias-correction", "true"}, "/bias_correction", false},
          {quantize, {"--out", "there"}, "/around/out", "there"},
          {quantize, {"--overwrite", "true"}, "/around/overwrite", true},
          {quantize, {"--seconds", "0.25"}, "/seconds", 0.25},
          {quantize, {"--json", "r.json"}, "/around/json", "r.json"},
          {quantize, {"--quiet", "true"}, "test:QuantizeCommand.TheExportedFileSaysTheSame"}};
}

json handed_to_quantization(const Words& given) {
  quantization::QuantizeFlags flags;
  give_all(flags.options(), given);
  const quantization::QuantizeOptions options = flags.quantization.options(*flags.data.images);
  const placement::Plan plan = flags.infer.placement.plan();
  inference::InferOptions infer = flags.infer.placement.infer_options(plan, flags.infer.placement.precision_on(plan));
  infer.reading_threads = threads_of(flags.infer.placement);
  static const inference::InferenceModel model([] {
    inference::InferenceRequest request;
    request.model = {.model = "mlp:784-10", .width = 28, .height = 28, .channels = 1};
    return request;
  }());
  json told = {{"request", request_json(flags.infer.model.request(false, 1))},
               {"seen", seen_json(flags.infer.model)},
               {"infer", infer_json(infer)},
               {"calibration", static_cast<int>(options.ranges.calibration)},
               {"percentile", options.ranges.percentile},
               {"weight_bits", options.weight_bits},
               {"bias_correction", options.bias_correction},
               {"images", options.images},
               {"most_lost", flags.quantization.most_lost()},
               {"seconds", *flags.output.seconds},
               {"data", *flags.data.data},
               {"around", around_json(run_options(flags, plan, model))}};
  if (flags.data.data->empty()) return told;
  const quantization::QuantizeImages images = quantization::open_quantize_images(flags, model, true, 1);
  told["calibrating"] = images.calibration.shown.samples->size();
  told["evaluated"] = images.evaluation.shown.samples->size();
  for (std::size_t i = 0; i < images.evaluation.shown.samples->size(); ++i) {
    told["names"].push_back(images.evaluation.shown.samples->name(i));
  }
  return told;
}

const bool kQuantizeIsAdded =
    add_to_option_table({{"quantize", {"MODEL", "resnet20"}, {}, handed_to_quantization}}, {quantizing()});

}  // namespace
}  // namespace evener::test
