#include "quantize/quantization.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/simd_level.h"
#include "base/terminal_text.h"
#include "base/version.h"
#include "data/locations.h"
#include "data/open/open_data.h"
#include "data/open/split_manifest.h"
#include "data/picture_listing.h"
#include "detect/detector.h"
#include "infer/calibrate/calibration_job.h"
#include "infer/calibrate/options.h"
#include "infer/model/trained_model.h"
#include "infer/session/images.h"
#include "infer/session/options.h"
#include "infer/session/session.h"
#include "measure/energy_meter.h"
#include "measure/run/metered_run.h"
#include "measure/sensors/open_sensors.h"
#include "network/cost.h"
#include "network/passes/quantize.h"
#include "options/data_flags.h"
#include "quantize/comparison.h"
#include "quantize/values/quantize.h"
#include "record/record_json.h"

namespace evener::quantization {
namespace {

namespace fs = std::filesystem;

/// Values that are no pictures.
bool is_array_or_random(const std::string& location) {
  return location.starts_with("random:") || location.ends_with(".npy");
}

/// Whether photos that a user names may come with boxes, and in parts.
bool has_parts(const std::string& location) {
  if (location.empty()) return true;  // the run's own
  if (is_array_or_random(location) || location.ends_with(".txt")) return false;
  return location.starts_with("synth:") || (data::are_on_disk(location) && !data::has_pictures_only(location));
}

detection::DetectImages open_for_detector(const QuantizeFlags& flags, const inference::InferenceModel& network,
                                          const std::string& location, const std::string& part, int threads) {
  detection::DetectFlags detect;
  if (!flags.infer.model.crop->empty()) detect.model.crop.read({*flags.infer.model.crop});
  if (flags.infer.model.interpolation.given()) detect.model.interpolation.read({*flags.infer.model.interpolation});
  if (has_parts(location)) {
    detect.images.data.read({location});
    detect.images.part.read({part});
    if (!flags.data.split->empty()) detect.images.split.read({*flags.data.split});
    if (*flags.data.seed) detect.images.seed.read({std::to_string(**flags.data.seed)});
  } else {
    detect.images.images.read({location});
  }
  return detection::open_photos(detect, network, detection::detector_classes(network), threads);
}

detection::DetectImages open(QuantizeFlags& flags, const inference::InferenceModel& network,
                             const std::string& location, const std::string& part, int threads) {
  if (network.is_detector() && !is_array_or_random(location)) {
    return open_for_detector(flags, network, location, part, threads);
  }
  inference::ImagesFlags& images = flags.infer.images;
  if (!location.empty()) images.images.read({location});
  images.part.read({part});
  images.takes_undivided_whole = true;
  if (!flags.data.split->empty()) images.split.read({*flags.data.split});
  if (*flags.data.seed) images.seed.read({std::to_string(**flags.data.seed)});
  return {inference::open_images(flags.infer, network, threads), nullptr};
}

std::shared_ptr<measure::EnergyMeter> machine_meter() {
  return std::make_shared<measure::EnergyMeter>(measure::open_sensors({}, "/", boot_now_s));
}

/// One run of the job.
class Quantization {
 public:
  Quantization(QuantizeFlags& flags, measure::Observer& observer)
      : flags_(flags), line_(observer), session_(flags.infer.placement, described(flags)) {
    require_usable();
    images_ = open_quantize_images(flags, model_, !is_quantized(), session_.threads());
    require_searchable();
    run_.emplace(run_options(flags, plan_, model_), line_);
  }

  QuantizedRun run() {
    record::Record record = run_->measure([&] {
      work();
      return run_->record();
    });
    return {std::move(record), std::move(found_), run_->folder()};
  }

 private:
  static inference::InferenceRequest described(const QuantizeFlags& flags) {
    inference::InferenceRequest request = flags.infer.model.request(false, 1);
    request.describe = true;
    request.calibrated = false;  // of the float network's features
    return request;
  }

  /// Whether the file's network stays as it is, because it isn't one of ours.
  bool stays_a_graph() const { return model_.network() == nullptr; }
  bool is_quantized() const { return !stays_a_graph() && network::is_quantized(*model_.network()); }

  void require_usable() const {
    if (placement::stage_count(plan_) > 1) {
      throw UsageError("'" + plan_.text +
                       "' divides layers over stages, and a quantised network computes in one piece; leave out '..'");
    }
    if (model_.is_foreign() && !stays_a_graph()) require_module("onnx");
    if (stays_a_graph() && flags_.quantization.accuracy_drop->has_value()) {
      throw UsageError("--accuracy-drop is for networks of ours; keep layers of '" + model_.name() +
                       "' in float with --keep");
    }
    if (!stays_a_graph() && !model_.weights().empty() && is_packed(model_.weights())) {
      throw UsageError("'" + model_.weights().string() +
                       "' is quantised already; name the weights that it was made of, or run it with 'evener infer'");
    }
    if (is_quantized()) require_nothing_settled();
    if (flags_.data.data->empty() && model_.run().empty()) {
      throw UsageError(
          "--data has to name images: ranges of activations are taken from some, and others are evaluated");
    }
  }

  /// Refuses options that quantisation-aware training has already settled.
  void require_nothing_settled() const {
    std::vector<const OptionBase*> settled = {&flags_.data.calibration_data, &flags_.data.images};
    for (const OptionBase* option : flags_.quantization.OptionGroup::options()) settled.push_back(option);
    for (const OptionBase* option : settled) {
      if (!option->given()) continue;
      throw UsageError(fmt::format(
          "'{}' learnt with quantisation: its scales, its bits and what stays in float are its own. Leave out {}",
          *flags_.infer.model.model, option->name()));
    }
  }

  void require_searchable() const {
    if (!flags_.quantization.accuracy_drop->has_value() || images_.evaluation.shown.labelled) return;
    throw UsageError(
        fmt::format("--accuracy-drop needs images whose {} are known, to see how much is lost; '{}' has none",
                    model_.is_detector() ? "boxes" : "classes", images_.evaluation.shown.location));
  }

  void note(const std::string& text) { run_->note(text); }

  void work() {
    begin();
    const fs::path file = run_->folder() / (stays_a_graph()       ? inference::kQuantizedGraph
                                            : model_.is_foreign() ? inference::kQuantizedForeign
                                                                  : inference::kQuantizedWeights);
    if (!is_quantized()) {
      line_.note("running the network in float");
      found_.before = measure_side(model_);
      stays_a_graph() ? quantize_graph(file) : quantize(file);
    } else {
      pack_to_file(model_, crop_of_file(), file);
      note("the network learnt with quantisation: its own scales are kept");
      found_.before = measure_side(model_);
    }
    found_.float_bytes = stays_a_graph() ? fs::file_size(model_.weights()) : float_bytes(*model_.state());
    found_.file_bytes = fs::file_size(file);
    if (stays_a_graph()) found_.file_bytes += fs::file_size(fs::path(file).replace_extension(".bin"));
    inference::InferenceRequest request;
    request.model.model = file.string();
    line_.note("running the quantised network");
    request.labels = *flags_.infer.model.labels;
    if (stays_a_graph()) request.study = detection::detector_study(*flags_.infer.model.decoder);
    const inference::InferenceModel quantized(request);
    found_.after = measure_side(quantized);
    if (found_.after.unread > 0) {
      note(fmt::format("{} could not be read and {} left out, such as {}",
                       counted(static_cast<std::int64_t>(found_.after.unread), "image"),
                       found_.after.unread == 1 ? "is" : "are", found_.after.first_unread));
    }
    compare_engines(quantized);
    write_file_atomically(run_->folder() / "layers.csv", layers_csv(found_.layers));
    found_.no_power = machine_meter()->refusal();
    tell_kept();
    if (!model_.run().empty()) data::SplitManifest::copy(model_.run(), run_->folder());
    request.model.model = run_->folder().string();
    calibrate(request, file);
    run_->take_times(run_->record());
    fill_quantize_metrics(found_, run_->record());
    const std::string warning = quantization_warning(found_, remedy());
    if (!warning.empty()) run_->record().warnings.push_back(warning);
  }

  std::string remedy() const {
    if (is_quantized()) return "train it longer, with a smaller --lr, or with --quantize int8 where it had fewer bits";
    const std::string search = stays_a_graph() ? "" : "--accuracy-drop 1% looks for layers to keep in float; ";
    return search +
           "--keep LAYER keeps one (layers.csv has their errors), and more --images or another --calibration may help" +
           (stays_a_graph() ? "" : ", and 'evener train --quantize int8' most");
  }

  /// How the written file says that its network is shown pictures: as here. Files have no word for the share of
  /// pictures that `centre` takes, and the usual share is taken where they say nothing.
  std::optional<data::CropMode> crop_of_file() {
    if (!model_.takes_images()) return std::nullopt;
    const inference::InferModelFlags& shown = flags_.infer.model;
    const data::Preprocessing steps = shown.preprocessing(model_);
    const bool is_part = steps.crop == data::CropMode::kCentre && steps.crop_fraction != 1;
    const bool is_unusual = is_part && (shown.crop_fraction->has_value() || model_.was_trained_here());
    if (is_unusual || *shown.interpolation != "bilinear") {
      note("the file can't say --crop-fraction and --interpolation: give them to 'evener infer' as well");
    }
    return is_part ? std::nullopt : std::optional(steps.crop);
  }

  void begin() {
    record::Record& record = run_->record();
    nlohmann::json config = nlohmann::json::object();
    for (const OptionGroup* group : flags_.groups()) group->record(config);
    inference::add_data_path(*flags_.data.data, config);
    // 'evener infer RUN' and 'evener detect RUN' evaluate what was evaluated here.
    if (flags_.data.data->empty()) {
      const inference::RunConfig of_training(model_.run());
      for (const char* key : {"data", "data-path", "class", "decode", "split", "seed", "crop"}) {
        const auto value = of_training.get<nlohmann::json>(key);
        const bool is_given = config.contains(key) && !config[key].is_null() && config[key] != "";
        if (value && !is_given) config[key] = *value;
      }
    }
    if (images_.evaluation.shown.part == "all" && flags_.data.split->empty()) config["split"] = {0, 0, 100};
    record.config = record::config_from_json(config);
    record.model.name = model_.name();
    if (!stays_a_graph()) {
      const auto cost = network::total_cost(*model_.network());
      record.model.parameters = cost.parameters;
      record.model.forward_flops = cost.forward_flops;
    }
    record.data.location = images_.evaluation.shown.location;
    record.data.images = static_cast<std::int64_t>(images_.evaluation.shown.samples->size());
    record.data.classes = model_.classes();
    record.data.shape = images_.evaluation.shown.samples->shape();
    record.placement = measure::placement_record(plan_);
    record.missing["validity.valid"] = "the network was run in other processes, which are not watched";
    run_->begin();
    for (const std::vector<std::string>* notes : {&model_.notes(), &std::as_const(images_.evaluation.shown.notes)}) {
      for (const std::string& text : *notes) note(text);
    }
    const int bits = weight_bits();
    if (!has_int8_products()) {
      const std::string less = is_quantized() ? "learning with --quantize w7 avoids that" : "--weight-bits 7 don't";
      note("this processor has no int8 dot products (VNNI or AMX): int8 may be no faster than float here" +
           (bits <= 7 ? fmt::format(", and weights have {} bits so that its sums don't overflow", bits)
                      : "; weights of 8 bits may overflow its sums, " + less));
    }
  }

  /// The most of any layer.
  int weight_bits() const {
    if (!is_quantized()) return flags_.quantization.options(1).weight_bits;
    int most = 0;
    for (const auto& [layer, bits] : model_.quantization()->weight_bits) most = std::max(most, bits);
    return most;
  }

  void compare_engines(const inference::InferenceModel& quantized) {
    found_.classes_known = !model_.classes().empty() || images_.evaluation.shown.labelled;
    if (quantized.network() == nullptr || !quantized.no_classes().empty() || found_.after.images == 0) return;
    line_.note("comparing fake quantisation with int8");
    found_.engines = engine_agreement(quantized, *images_.evaluation.shown.samples, placement::cpu_threads(plan_));
  }

  QuantizeRequest request() {
    const data::Samples& calibration = *images_.calibration.shown.samples;
    line_.note(fmt::format("calibrating on {} of {}",
                           std::min<std::size_t>(calibration.size(), static_cast<std::size_t>(*flags_.data.images)),
                           counted(calibration.size(), "image")));
    return {.model = model_,
            .calibration = calibration,
            .options = flags_.quantization.options(*flags_.data.images),
            .keep = *flags_.quantization.keep,
            .crop = crop_of_file(),
            .threads = placement::cpu_threads(plan_)};
  }

  void quantize(const fs::path& file) {
    const bool searches = flags_.quantization.accuracy_drop->has_value();
    QuantizeRequest asked = request();
    if (searches) {
      asked.evaluation = images_.evaluation.shown.samples.get();
      asked.photos = images_.evaluation.photos;
    }
    asked.boxes = usual_boxes();
    asked.most_lost = flags_.quantization.most_lost();
    QuantizeOutcome outcome = quantize_to_file(asked, file);
    for (const std::string& text : outcome.notes) note(text);
    if (outcome.images < static_cast<std::size_t>(*flags_.data.images)) {
      note(fmt::format("there were only {} to calibrate with, not {}", counted(outcome.images, "image"),
                       *flags_.data.images));
    }
    if (searches) note(counted(outcome.trials, "network") + " tried for --accuracy-drop");
    found_.layers = std::move(outcome.layers);
  }

  /// Tells how the file's network is shown pictures, too, so that the quantised one is shown them alike.
  void quantize_graph(const fs::path& file) {
    const QuantizeRequest asked = request();
    inference::ModelFacts facts{.model = model_.name(),
                                .classes = model_.classes(),
                                .input = model_.input_shape(),
                                .normalization = {},
                                .crop = asked.crop,
                                .reverses_channels = model_.reverses_channels()};
    if (model_.takes_images()) facts.normalization = model_.normalization();
    QuantizeOutcome outcome = quantize_file(asked, facts, file);
    note("the network stays OpenVINO's graph: ranges are the means of each image's least and greatest values" +
         std::string(*flags_.quantization.calibration == "minmax" ? ", but with minmax the farthest of all" : ""));
    found_.layers = std::move(outcome.layers);
  }

  /// A calibrated network stays so: int8 changes its features and scores, so that it is calibrated anew where the data
  /// allows it, else keeps the temperature alone.
  void calibrate(const inference::InferenceRequest& quantized, const fs::path& file) {
    const auto before = inference::read_calibration(model_.weights()).calibration;
    if (!before) return;
    try {
      const fs::path figures = model_.weights().parent_path() / record::kCalibrationFile;
      const double unknown = fs::exists(figures) ? record::read_calibration_record(figures).unknown_wanted
                             : before->unknown   ? *inference::UnknownFlags().unknown
                                                 : 0;
      if (!images_.evaluation.shown.labelled) throw Error("it takes images whose classes are known");
      const inference::RunConfig config(model_.run());
      const inference::LabelledDataRequest request{
          .location = flags_.data.data->empty() ? inference::own_data(config) : *flags_.data.data,
          .weights = model_.weights(),
          .split = *flags_.data.split,
          .seed = *flags_.data.seed,
          .threads = session_.threads()};
      const data::OpenedData data =
          inference::open_labelled_data(request, flags_.infer.model.preprocessing(model_), config);
      const auto classes = inference::class_numbers(data.dataset->classes(), model_, request.location);
      inference::calibrate_run(quantized, data, classes.value(), unknown, run_->record(), line_);
      note(fmt::format("that was fitted anew, to the quantised network; in float the temperature is {:.3g}",
                       before->temperature));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      line_.finish();
      inference::write_calibration(file, {.temperature = before->temperature});
      note(
          fmt::format("the temperature of the float network, {:.3g}, is kept; nothing is called unknown, and 'evener "
                      "calibrate {} --data DATA' does that: {}",
                      before->temperature, shell_word(run_->folder().string()), error.what()));
    }
  }

  void tell_kept() {
    std::string kept;
    for (const auto& layer : found_.layers) {
      if (!layer.quantized) kept += (kept.empty() ? "" : ", ") + layer.layer;
    }
    if (!kept.empty()) note("in float stay " + kept);
  }

  RunFigures measure_side(const inference::InferenceModel& model) const {
    inference::InferOptions infer = flags_.infer.placement.infer_options(plan_, session_.precision());
    infer.reading_threads = session_.threads();
    infer.usual_engine = true;  // one engine for both networks
    const FigureOptions options{.infer = std::move(infer),
                                .seconds = *flags_.output.seconds,
                                .photos = model_.is_detector() ? images_.evaluation.photos : nullptr,
                                .boxes = usual_boxes(),
                                .joules_so_far = [meter = machine_meter()] {
                                  meter->poll();
                                  return meter->joules_so_far();
                                }};
    return measure_run(model, *images_.evaluation.shown.samples, options);
  }

  /// Of a detector.
  detection::DecodeOptions usual_boxes() const {
    if (!model_.is_detector()) return {};
    return detection::DetectBoxesFlags().options(true, {}, detection::usual_decoding(model_));
  }

  QuantizeFlags& flags_;
  measure::Observer& line_;
  const inference::InferenceSession session_;
  const placement::Plan& plan_ = session_.plan();
  const inference::InferenceModel& model_ = session_.network();
  QuantizeImages images_;
  std::optional<measure::MeteredRun> run_;
  QuantizeComparison found_;
};

}  // namespace

CalibrationDataFlags::CalibrationDataFlags() : OptionGroup("Data") {
  // As trainings have it: 'evener infer RUN' divides the data so.
  split.record_as([this](nlohmann::json& value) {
    if (!split->empty()) value = parse_split(*split);
  });
}

OptionSet QuantizeFlags::options() {
  OptionSet all{&infer.model, &data, &quantization, &infer.placement, &output, &energy};
  // The network is shown as it is; what comes of it is calibrated anew.
  all.leave_out([&](const OptionBase& option) { return &option == &infer.model.uncalibrated; });
  return all;
}

QuantizeFlags::QuantizeFlags() {
  infer.model.model.explain(
      "What becomes int8: the folder of a training, its .safetensors, another program's .onnx, .tflite or .xml, or a "
      "network of the zoo with --weights");
}

QuantizeOptions QuantizationFlags::options(std::int64_t images) const {
  QuantizeOptions options;
  options.ranges = {parse_calibration(*calibration), percentile->percent};
  options.weight_bits = *weight_bits == "auto" ? (has_int8_products() ? 8 : 7) : std::stoi(*weight_bits);
  options.bias_correction = !*no_bias_correction;
  options.images = static_cast<std::size_t>(images);
  return options;
}

QuantizeImages open_quantize_images(QuantizeFlags& flags, const inference::InferenceModel& network, bool calibrates,
                                    int threads) {
  const std::string &data = *flags.data.data, &other = *flags.data.calibration_data;
  QuantizeImages images;
  // Nothing is trained here, so images need not be held out.
  images.evaluation = open(flags, network, data, calibrates && other.empty() ? inference::kHeldOut : "", threads);
  if (calibrates && other.empty()) images.calibration = open(flags, network, data, "train", threads);
  if (calibrates && !other.empty()) images.calibration = open(flags, network, other, "all", threads);
  return images;
}

void complete(QuantizeFlags& flags, measure::Observer* observer) {
  complete(flags.infer.model, observer);
}

measure::RunOptions run_options(const QuantizeFlags& flags, const placement::Plan& plan,
                                const inference::InferenceModel& model) {
  return {.kind = "quantize",
          .version = program_version(),
          .out = *flags.output.out,
          .default_name = model.name() + "-quantized",
          .overwrite = *flags.output.overwrite,
          .reads = {model.weights()},
          .energy = flags.energy.options(plan),
          .json = *flags.output.json};
}

QuantizedRun quantize(QuantizeFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  return Quantization(flags, observer).run();
}

MeasuredCommand measured_quantize() {
  MeasuredCommand command = measured_with(std::make_shared<QuantizeFlags>(), "quantize");
  command.length = {.key = "seconds"};
  return command;
}

}  // namespace evener::quantization
