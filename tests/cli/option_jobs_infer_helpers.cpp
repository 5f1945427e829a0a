// What the commands that show images to a network are handed, and those that write data and files.
#include "base/precision.h"
#include "base/test_folder.h"
#include "cli/option_rows_helpers.h"
#include "job/calibrate/calibration_job.h"
#include "job/data/data_job.h"
#include "job/detect/detection.h"
#include "job/export/export_job.h"
#include "job/faces/comparison.h"
#include "job/faces/faces_job.h"
#include "job/infer/inference.h"
#include "job/labels/labels_flags.h"
#include "job/quantize/quantization.h"
#include "job/serve/serve.h"
#include "task/detect/detector.h"

namespace evener::test {
namespace {

using nlohmann::json;

template <class T>
json value_or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json model_json(const task::ModelRequest& request) {
  return {{"model", request.model},
          {"weights", request.weights.string()},
          {"width", value_or_null(request.width)},
          {"height", value_or_null(request.height)},
          {"channels", value_or_null(request.channels)},
          {"classes", value_or_null(request.classes)},
          {"seed", request.seed}};
}

json request_json(const task::InferenceRequest& request) {
  json told = model_json(request.model);
  told["normalize"] = request.normalization.text;
  if (!request.normalization.given.mean.empty()) told["mean"] = request.normalization.given.mean;
  told["layout"] = request.layout ? json(static_cast<int>(*request.layout)) : json();
  told["bgr"] = request.reverse_channels.value_or(false);
  told["features"] = request.features;
  told["calibrated"] = request.calibrated;
  told["labels"] = request.labels.string();
  told["output"] = request.output;
  told["output_type"] = static_cast<int>(request.output_type);
  return told;
}

/// How a small network of the zoo would see pictures.
template <class Flags>
json seen_json(const Flags& flags) {
  static const task::InferenceModel network([] {
    task::InferenceRequest request;
    request.model.model = "resnet20";
    return request;
  }());
  const data::Preprocessing steps = flags.preprocessing(network);
  return {{"crop", static_cast<int>(steps.crop)},
          {"crop_fraction", steps.crop_fraction},
          {"filter", static_cast<int>(steps.filter)},
          {"keeps_fitting", steps.keeps_fitting}};
}

json infer_json(const task::InferOptions& options) {
  return {{"plan", plan_json(options.plan)},
          {"engine", options.engine},
          {"precision", precision_name(options.precision)},
          {"batch", value_or_null(options.batch)},
          {"streams", value_or_null(options.streams)},
          {"reading_threads", options.reading_threads},
          {"strict", options.strict},
          {"cut", options.cut},
          {"stage_memory_bytes", options.stage_memory_bytes}};
}

json scenario_json(const job::ScenarioFlags& flags) {
  if (!flags.wanted()) return nullptr;
  const bench::ScenarioOptions options = flags.scenario_options(1000);
  return {{"scenario", static_cast<int>(options.scenario)},
          {"samples_per_query", options.samples_per_query},
          {"percentile", options.percentile},
          {"latency_limit_s", options.latency_limit_s},
          {"target_rate", value_or_null(options.target_rate)},
          {"min_duration_s", options.min_duration_s},
          {"seeds",
           {options.seeds.sample_set, options.seeds.sample_index, options.seeds.schedule, options.seeds.accuracy_log}}};
}

/// Threads that read, as the jobs take them where --reading-threads says nothing.
int threads_of(const job::InferPlacementFlags& flags) {
  return flags.reading_threads->value_or(-1);
}

json handed_to_inference(const Words& given) {
  job::InferCommandFlags flags;
  give_all(flags.options(), given);
  const placement::Plan plan = flags.placement.plan();
  const Precision precision = flags.placement.precision_on(plan);
  const bool is_picture_network = flags.model.model->starts_with("resnet");
  return {{"request", request_json(job::inference_request(flags))},
          {"seen", is_picture_network ? seen_json(flags.model) : json()},
          {"infer", infer_json(job::infer_options(flags, plan, precision, threads_of(flags.placement)))},
          {"scenario", scenario_json(flags.scenario)},
          {"around", around_json(job::run_options(flags, plan, "w.pt"))}};
}

/// How boxes are told of a detector of three classes.
json boxes_json(const job::DetectBoxesFlags& flags) {
  const task::DecodeOptions boxes = flags.options(false, {"cat", "dog", "cow"}, {});
  return {{"confidence", boxes.confidence}, {"iou", boxes.iou}, {"most", boxes.most}, {"labels", boxes.labels}};
}

json handed_to_server(const Words& given) {
  job::ServeFlags flags;
  give_all(flags.options(), given);
  const task::BatchQueueOptions queue = flags.server.queue_options(3, 4);
  const job::HttpOptions http = flags.server.http();
  task::InferOptions infer = flags.infer_options(flags.placement.plan());
  infer.reading_threads = threads_of(flags.placement);
  return {{"request", request_json(flags.model.request(false, 1))},
          {"seen", seen_json(flags.model)},
          {"infer", infer_json(infer)},
          {"boxes", boxes_json(flags.boxes)},
          {"queue", {{"capacity", queue.capacity}, {"max_wait_s", queue.max_wait_s}}},
          {"lanes_and_batch", {queue.lanes, queue.batch}},
          {"takes_bytes_of_images", flags.server.takes_bytes(true)},
          {"takes_bytes_of_vectors", flags.server.takes_bytes(false)},
          {"energy", {{"meters", flags.energy.options(flags.placement.plan()).meters}}},
          {"http",
           {{"host", http.host},
            {"port", http.port},
            {"connections", http.connections},
            {"body_bytes", http.body_bytes},
            {"transfer_s", http.transfer_s}}}};
}

json handed_to_quantization(const Words& given) {
  job::QuantizeFlags flags;
  give_all(flags.options(), given);
  const task::QuantizeOptions options = flags.quantization.options(*flags.data.images);
  const placement::Plan plan = flags.infer.placement.plan();
  task::InferOptions infer = flags.infer.placement.infer_options(plan, flags.infer.placement.precision_on(plan));
  infer.reading_threads = threads_of(flags.infer.placement);
  static const task::InferenceModel model([] {
    task::InferenceRequest request;
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
               {"around", around_json(job::run_options(flags, plan, model))}};
  if (flags.data.data->empty()) return told;
  const job::QuantizeImages images = job::open_quantize_images(flags, model, true, 1);
  told["calibrating"] = images.calibration.shown.samples->size();
  told["evaluated"] = images.evaluation.shown.samples->size();
  for (std::size_t i = 0; i < images.evaluation.shown.samples->size(); ++i) {
    told["names"].push_back(images.evaluation.shown.samples->name(i));
  }
  return told;
}

json handed_to_detection(const Words& given) {
  job::DetectFlags flags;
  give_all(flags.options(), given);
  const placement::Plan plan = flags.placement.plan();
  json told = {{"request", request_json(flags.model.request())},
               {"seen", seen_json(flags.model)},
               {"infer", infer_json(job::infer_options(flags, plan, flags.placement.precision_on(plan),
                                                       threads_of(flags.placement)))},
               {"boxes", boxes_json(flags.boxes)},
               {"confidence_where_known", flags.boxes.options(true, {"cat", "dog", "cow"}, {}).confidence},
               {"around", around_json(job::run_options(flags, plan, "w.pt"))}};
  if (flags.images.data->empty()) return told;
  static const task::InferenceModel detector([] {
    task::InferenceRequest request;
    request.model = {.model = "ssdlite_mobilenet_v2", .width = 64, .height = 64, .classes = 3};
    request.labels = [] {
      static const TestFolder folder;
      write_text(folder / "names.txt", "circle\nsquare\ntriangle\n");
      return folder / "names.txt";
    }();
    return request;
  }());
  const job::DetectImages images = job::open_photos(flags, detector, task::detector_classes(detector), 1);
  told["shown"] = images.shown.samples->size();
  for (std::size_t i = 0; i < images.shown.samples->size(); ++i) {
    told["names"].push_back(images.shown.samples->name(i));
  }
  return told;
}

json handed_to_faces(const Words& given) {
  job::FacesCommandFlags flags;
  give_all(flags.options(), given);
  const task::FacesOptions options = job::faces_options(flags);
  const job::ComparisonRequest compared = job::comparison_request(flags.comparison);
  const task::FaceDetectorFileOptions& file = options.detector.file;
  return {{"detector", options.detector.name},
          {"detector_weights", options.detector.weights.string()},
          {"detector_size", file.size ? json({file.size->width, file.size->height}) : json()},
          {"embedder", options.embedder.name},
          {"weights", options.embedder.weights.string()},
          {"file", request_json(options.embedder.file)},
          {"cut", options.embedder.cut ? json(static_cast<int>(*options.embedder.cut)) : json()},
          {"min_size", options.detector.mtcnn.min_size},
          {"thresholds", options.detector.mtcnn.thresholds},
          {"factor", options.detector.mtcnn.factor},
          {"margin", options.margin},
          {"all", options.all},
          {"turn", options.turn},
          {"strict", options.strict},
          {"chunk", options.chunk},
          {"memory_bytes", options.memory_bytes},
          {"plan", plan_json(options.plan)},
          {"precision", precision_name(options.precision)},
          {"limit", compared.limit},
          {"neighbours", value_or_null(compared.neighbours)},
          {"around", around_json(job::run_options(flags, options.plan, *flags.output.resume))}};
}

json handed_to_calibration(const Words& given) {
  job::CalibrateFlags flags;
  give_all(flags.options(), given);
  const placement::Plan plan = flags.placement.plan();
  task::InferOptions infer = flags.placement.infer_options(plan, flags.placement.precision_on(plan));
  infer.reading_threads = threads_of(flags.placement);
  return {{"request", request_json(flags.model.request(false, 1))},
          {"seen", seen_json(flags.model)},
          {"infer", infer_json(infer)},
          {"data", *flags.data.data},
          {"split", *flags.data.split},
          {"seed", value_or_null(*flags.data.seed)},
          {"images", *flags.data.images},
          {"unknown", *flags.data.unknown}};
}

json handed_to_data(const std::string& command, const Words& given) {
  if (command == "data synth") {
    job::SynthFlags flags;
    give_all(flags.options(), given);
    return data_json(flags.data_options());
  }
  if (command == "data labels") {
    job::LabelsCommandFlags flags;
    give_all(flags.options(), given);
    json told = json::object();
    for (const job::OptionBase* option : flags.labels.options()) option->record(told["labels"]);
    return told;
  }
  if (command == "data pack") {
    job::PackFlags flags;
    give_all(flags.options(), given);
    return data_json(flags.source.whole_data_options());
  }
  job::DataInfoFlags flags;
  give_all(flags.options(), given);
  return data_json(flags.source.whole_data_options());
}

}  // namespace

json handed_by_inference(const std::string& command, const Words& given) {
  if (command == "infer") return handed_to_inference(given);
  if (command == "serve") return handed_to_server(given);
  if (command == "calibrate") return handed_to_calibration(given);
  if (command == "quantize") return handed_to_quantization(given);
  if (command == "detect") return handed_to_detection(given);
  if (command == "faces") return handed_to_faces(given);
  if (command.starts_with("data ")) return handed_to_data(command, given);
  if (command != "export") throw std::logic_error("nobody tells what '" + command + "' is handed");
  job::ExportFlags flags;
  give_all(flags.options(), given);
  json told = model_json(flags.request());
  told["onnx"] = *flags.onnx;
  return told;
}

}  // namespace evener::test
