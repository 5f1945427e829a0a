// evener quantize: a trained network with 8-bit weights and activations, and what that changes.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/int8_products.h"
#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "cli/command.h"
#include "cli/infer_images.h"
#include "cli/json_output.h"
#include "cli/options/quantize_flags.h"
#include "cli/progress.h"
#include "cli/quantize_table.h"
#include "cli/train_hosts.h"
#include "data/open_data.h"
#include "data/picture_listing.h"
#include "measure/record_json.h"
#include "network/cost.h"
#include "run/metered_run.h"
#include "run/placement_record.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char *kFile = "quantized.safetensors", *kForeignFile = "quantized.onnx";

constexpr const char* kExamples =
    R"(The folder that is written, or the file in it, is what infer and export take. It can be trained on
('evener train MODEL --weights FILE'), and a run that learnt with quantisation becomes a file of int8 weights here.
Of another program's file (.onnx, .tflite) comes quantized.onnx.

Examples:
  evener quantize runs/a                                calibrated and evaluated on the data of runs/a
  evener quantize resnet20 --weights resnet20.th --normalize imagenet --data cifar/ --out runs/int8
  evener quantize runs/a --calibration entropy --images 500
  evener quantize runs/a --accuracy-drop 0.5            layers stay in float until at most half a point is lost
  evener quantize runs/a --keep first --keep last --weight-bits 4
  evener quantize mobilenet_v2.tflite --data photos/ --out runs/int8
  evener infer runs/int8 photos/)";

/// Whether --part means something for what a user names.
bool has_parts(const std::string& location) {
  if (location.empty()) return true;  // the run's own
  if (location.starts_with("random:") || location.ends_with(".npy") || location.ends_with(".txt")) return false;
  return location.starts_with("synth:") || (fs::exists(location) && !data::has_pictures_only(location));
}

/// One run of the command, from its options to what it prints.
class Quantization {
 public:
  explicit Quantization(QuantizeFlags& flags)
      : flags_(flags),
        line_(*flags.output.quiet),
        plan_(flags.infer.placement.plan()),
        precision_(flags.infer.placement.precision_on(plan_)),
        threads_(flags.infer.placement.reading_threads->value_or(usable_cpus())),
        model_(described(flags.infer.model)) {
    require_usable();
    evaluation_ = open(*flags.data.data, flags.data.calibration_data->empty() ? "test" : "");
    if (!is_quantized()) {
      const std::string& other = *flags.data.calibration_data;
      calibration_ = open(other.empty() ? *flags.data.data : other, other.empty() ? "train" : "all");
    }
    run_.emplace(run::RunOptions{.kind = "quantize",
                                 .version = EVENER_VERSION,
                                 .command = command_line(),
                                 .out = flags.output.out->empty() ? run::default_out(model_.name() + "-quantized")
                                                                  : fs::path(*flags.output.out),
                                 .overwrite = *flags.output.overwrite,
                                 .json = *flags.output.json},
                 line_);
  }

  int run() {
    const measure::Record record = run_->measure([&] {
      work();
      return run_->record();
    });
    if (write_json(*flags_.output.json, measure::to_json(record))) return 0;
    fmt::print("{}results               {}\n", comparison_text(found_), run_->folder().string());
    return 0;
  }

 private:
  static task::InferenceRequest described(const InferModelFlags& flags) {
    task::InferenceRequest request = flags.request(false, 1);
    request.describe = true;
    return request;
  }

  bool is_quantized() const { return task::is_quantized(*model_.network()); }

  void require_usable() const {
    if (model_.is_foreign()) require_module("onnx");
    if (!model_.weights().empty() && task::is_packed(model_.weights())) {
      throw UsageError("'" + model_.weights().string() +
                       "' is quantised already; name the weights that it was made of, or run it with 'evener infer'");
    }
    if (flags_.data.data->empty() && model_.run().empty()) {
      throw UsageError(
          "--data has to name images: ranges of activations are taken from some, and others are evaluated");
    }
  }

  InferImages open(const std::string& location, const std::string& part) {
    if (!location.empty()) flags_.infer.images.images.read({location});
    flags_.infer.images.part.read({has_parts(location) ? part : std::string()});
    if (!flags_.data.split->empty()) flags_.infer.images.split.read({*flags_.data.split});
    if (*flags_.data.seed) flags_.infer.images.seed.read({std::to_string(**flags_.data.seed)});
    return open_images(flags_.infer, model_, threads_);
  }

  void note(const std::string& text) { run_->note(text); }

  void work() {
    begin();
    const fs::path file = run_->folder() / (model_.is_foreign() ? kForeignFile : kFile);
    if (!is_quantized()) {
      line_.note("running the network in float");
      found_.before = measure_side(model_);
      quantize(file);
    } else {
      task::pack_to_file(model_, file);
      note("the network learnt with quantisation: its own scales are kept, and nothing is calibrated");
      found_.before = measure_side(model_);
    }
    found_.float_bytes = task::float_bytes(*model_.state());
    found_.file_bytes = fs::file_size(file);
    task::InferenceRequest request;
    request.model.model = file.string();
    line_.note("running the quantised network");
    request.labels = *flags_.infer.model.labels;
    found_.after = measure_side(task::InferenceModel(request));
    write_file_atomically(run_->folder() / "layers.csv", layers_csv(found_.layers));
    tell_kept();
    run_->take_times(run_->record());
    fill_quantize_metrics(found_, run_->record());
  }

  void begin() {
    measure::Record& record = run_->record();
    nlohmann::json config = nlohmann::json::object();
    for (const OptionGroup* group : flags_.groups()) group->record(config);
    // 'evener infer RUN' evaluates what was evaluated here.
    if (!flags_.data.calibration_data->empty() && flags_.data.split->empty()) config["split"] = {0, 0, 100};
    record.config = measure::config_from_json(config);
    record.model.name = model_.name();
    const auto cost = network::total_cost(*model_.network());
    record.model.parameters = cost.parameters;
    record.model.forward_flops = cost.forward_flops;
    record.data.location = evaluation_.location;
    record.data.images = static_cast<std::int64_t>(evaluation_.samples->size());
    record.data.classes = model_.classes();
    record.data.shape = evaluation_.samples->shape();
    record.placement = run::placement_record(plan_);
    record.missing["validity.valid"] = "the network was run in other processes, which are not watched";
    run_->begin();
    for (const std::vector<std::string>* notes : {&model_.notes(), &std::as_const(evaluation_.notes)}) {
      for (const std::string& text : *notes) note(text);
    }
    const int bits = flags_.quantization.options(1).weight_bits;
    if (!has_int8_products()) {
      note("this processor has no int8 dot products (VNNI or AMX): int8 may be no faster than float here" +
           std::string(bits <= 7 ? ", and weights have 7 bits so that its sums don't overflow"
                                 : "; weights of 8 bits may overflow its sums, --weight-bits 7 don't"));
    }
  }

  void quantize(const fs::path& file) {
    const bool searches = flags_.quantization.accuracy_drop->has_value();
    if (searches && !evaluation_.labelled) {
      throw UsageError("--accuracy-drop needs images whose classes are known, to see how much accuracy is lost");
    }
    line_.note(
        fmt::format("calibrating on {} of {}",
                    std::min<std::size_t>(calibration_.samples->size(), static_cast<std::size_t>(*flags_.data.images)),
                    counted(calibration_.samples->size(), "image")));
    const task::QuantizeRequest request{.model = model_,
                                        .calibration = *calibration_.samples,
                                        .evaluation = searches ? evaluation_.samples.get() : nullptr,
                                        .most_lost = flags_.quantization.accuracy_drop->value_or(0) / 100,
                                        .options = flags_.quantization.options(*flags_.data.images),
                                        .keep = *flags_.quantization.keep,
                                        .threads = usable_cores()};
    task::QuantizeOutcome outcome = task::quantize_to_file(request, file);
    for (const std::string& text : outcome.notes) note(text);
    if (outcome.images < static_cast<std::size_t>(*flags_.data.images)) {
      note(fmt::format("there were only {} to calibrate with, not {}", counted(outcome.images, "image"),
                       *flags_.data.images));
    }
    if (searches) note(fmt::format("{} networks were tried for --accuracy-drop", outcome.trials));
    found_.layers = std::move(outcome.layers);
  }

  void tell_kept() {
    std::string kept;
    for (const auto& layer : found_.layers) {
      if (!layer.quantized) kept += (kept.empty() ? "" : ", ") + layer.layer;
    }
    if (!kept.empty()) note("in float stay " + kept);
  }

  task::RunFigures measure_side(const task::InferenceModel& model) const {
    const task::InferOptions options{.plan = plan_,
                                     .engine = *flags_.infer.placement.engine,
                                     .precision = precision_,
                                     .batch = *flags_.infer.placement.batch,
                                     .streams = *flags_.infer.placement.streams,
                                     .reading_threads = threads_};
    return task::measure_run(model, *evaluation_.samples, options, *flags_.output.seconds);
  }

  QuantizeFlags& flags_;
  ProgressLine line_;
  const placement::Plan plan_;
  const Precision precision_;
  const int threads_;
  const task::InferenceModel model_;
  InferImages evaluation_, calibration_;
  std::optional<run::MeteredRun> run_;
  QuantizeComparison found_;
};

}  // namespace

Command quantize_command() {
  const auto flags = std::make_shared<QuantizeFlags>();
  return {.name = "quantize",
          .summary = "Make a trained network compute in int8, and tell what that changes",
          .options = flags->options(),
          .footer = kExamples,
          .run = [flags] { return Quantization(*flags).run(); }};
}

}  // namespace evener::cli
