// Rows of what shows images to a network, which other commands have too, and of calibrating, exporting and sharing it.
#include "app/option_rows_helpers.h"

#include "infer/calibrate/calibration_job.h"
#include "infer/export/export_job.h"
#include "infer/option_rows_helpers.h"

namespace evener::test {
namespace {

using nlohmann::json;

const Words kMany = {"--on", "300xcpu/t1"};

const Words kServer = {"--scenario", "server"};

std::vector<OptionRow> shown_network() {
  const char* all = "infer|serve|quantize|calibrate";
  const char* four = "infer|serve|quantize|detect|calibrate";
  return {{four, {"MODEL", "resnet32"}, "/request/model", "resnet32"},
          {four, {"--weights", "there.pt"}, "/request/weights", "there.pt"},
          {four, {"--labels", "names.txt"}, "/request/labels", "names.txt"},
          {all, {"--classes", "7"}, "/request/classes", 7},
          {four, {"--size", "20x10"}, "/request/width", 20},
          {four, {"--size", "20x10"}, "/request/height", 10},
          {all, {"--channels", "3"}, "/request/channels", 3},
          {four, {"--normalize", "imagenet"}, "/request/normalize", "imagenet"},
          {four, {"--normalize", "0.5/0.25"}, "/request/mean", {0.5}},
          {all, {"--crop", "stretch"}, "/seen/crop", 0},
          {four, {"--crop", "letterbox"}, "/seen/crop", 1},
          {all, {"--crop", "centre"}, "/seen/keeps_fitting", false},
          {all, {"--crop-fraction", "0.5"}, "/seen/crop_fraction", 0.5},
          {four, {"--interpolation", "lanczos"}, "/seen/filter", 3},
          {four, {"--layout", "nhwc"}, "/request/layout", 1},
          {four, {"--layout", "nchw"}, "/request/layout", 0},
          {four, {"--channel-order", "bgr"}, "/request/bgr", true},
          {"infer|serve|quantize|detect", {"--decoder", "yola"}, "/error", "~unknown decoder 'yola'"},
          {"infer|serve", {"--decoder", "yolox"}, "test:KnownEverywhere.AForeignDetector"},
          {all, {"--output-name", "scores"}, "/request/output", "scores"},
          {"infer|serve", {"--uncalibrated", "true"}, "/request/calibrated", false}};
}

std::vector<OptionRow> where_computed() {
  const char* all = "infer|serve|quantize|detect|calibrate";
  return {{all, {"--on", "2xcpu/t1"}, "/infer/plan/text", "2xcpu/t1"},
          {all, {"--oversubscribe", "true"}, "/infer/plan/replicas", 300, kMany},
          {all, {"--precision", "bf16"}, "/infer/precision", "bf16"},
          {all, {"--engine", "torch"}, "/infer/engine", "torch"},
          {all, {"--batch", "3"}, "/infer/batch", 3},
          {all, {"--streams", "2"}, "/infer/streams", 2},
          {all, {"--cut", "fc2"}, "/infer/cut", {"fc2"}, {"--on", "cpu/t1..cpu/t1"}},
          {all, {"--memory", "1.5"}, "/infer/stage_memory_bytes", 1'500'000},
          {all, {"--reading-threads", "3"}, "/infer/reading_threads", 3}};
}

std::vector<OptionRow> what_is_shown() {
  const char* infer = "infer";
  return {{infer, {"IMAGES", "random:3"}, "/run/record/data/images", 3},
          {infer, {"--part", "train"}, "/run/record/data/images", 60, {"--split", "60/30/10"}},
          {infer, {"--part", "validation"}, "/run/record/data/images", 30, {"--split", "60/30/10"}},
          {infer, {"--split", "50/30/20"}, "/run/record/data/images", 20, {"--part", "test"}},
          {infer, {"--seed", "7"}, "/request/seed", 7},
          {infer, {"--seed", "7"}, "/run/predictions"},  // other images are the test part
          {infer, {"--strict", "true"}, "/infer/strict", true},
          {infer, {"--random", "true"}, "/run/exit", 0, {"MODEL", "resnet20", "IMAGES", "{}/blank.pgm"}}};
}

std::vector<OptionRow> answers() {
  const char* infer = "infer";
  const Words csv = {"--format", "csv"};
  return {{infer, {"--topk", "2"}, "/run/prediction_rows", 20},
          {infer, {"--confidence", "1"}, "/run/out", nullptr, csv},
          {infer, {"--output-type", "logit"}, "/request/output_type", 2},
          {infer, {"--output-type", "prob"}, "/request/output_type", 1},
          {infer, {"--output-type", "logit"}, "/run/predictions"},
          {infer, {"--outputs", "raw"}, "/run/files", "~out/files.txt"},
          {infer, {"--format", "jsonl"}, "/run/out", "~{\"file\""},
          {infer, {"--features", "{}/f.safetensors"}, "/run/files", "~f.safetensors"},
          {infer, {"--features", "{}/f.safetensors"}, "/request/features", true},
          {infer, {"--sort", "sorted"}, "test:InferSort.PutsLinksIntoAFolderOfEachClassAndKeepsWhatPeoplePutRight"},
          {infer, {"--sort-by", "copy"}, "test:InferSort.CopiesWhereAskedAndPutsUnsurePhotosAside"},
          {infer, {"--confidence", "1"}, "test:InferSort.CopiesWhereAskedAndPutsUnsurePhotosAside"},
          {infer, {"--watch", "true"}, "test:InferSort.WatchGoesOnWithPhotosThatCome"},
          {infer, {"--watch", "true"}, "/error", "~has no end for a record", {"--out", "there"}},
          {infer, {"--out", "there"}, "/around/out", "there"},
          {infer, {"--overwrite", "true"}, "/around/overwrite", true},
          {infer, {"--json", "r.json"}, "/around/json", "r.json"},
          {infer, {"--json", "-"}, "/run/out", "~\"kind\": \"infer\""},
          {infer, {"--quiet", "true"}, "/run/err", ""}};
}

std::vector<OptionRow> scenarios() {
  const char* infer = "infer";
  return {{infer, {"--scenario", "offline"}, "/scenario/scenario", 3},
          {infer, {"--scenario", "server"}, "/scenario/scenario", 2},
          {infer, {"--quick", "true"}, "/error", "~exclude each other", {"--scenario", "server", "--full", "true"}},
          {infer, {"--full", "true"}, "/scenario/min_duration_s", 600.0, kServer},
          {infer, {"--latency-limit", "50"}, "/scenario/latency_limit_s", 0.05, kServer},
          {infer, {"--target-rate", "12.5"}, "/scenario/target_rate", 12.5, kServer},
          {infer, {"--samples-per-query", "3"}, "/scenario/samples_per_query", 3, {"--scenario", "multi-stream"}},
          {infer, {"--percentile", "95%"}, "/scenario/percentile", 0.95, kServer},
          {infer, {"--min-duration", "2.5"}, "/scenario/min_duration_s", 2.5, kServer},
          {infer, {"--scenario-seeds", "9,8,7,6"}, "/scenario/seeds", {9, 8, 7, 6}, kServer},
          {infer, {"--seconds", "0.01"}, "/run/metrics", "~network_images_per_s"},
          {infer, {"--profile", "layers"}, "test:Profile.OfInferenceIsThatOfTheEngine"},
          {infer, {"--trace", "t.json"}, "/around/trace", "t.json"},
          {infer, {"--sample-interval", "125"}, "/around/sample_interval_ms", 125}};
}

std::vector<OptionRow> videos() {
  const char* all = "infer|detect|faces";
  return {{all, {"--every", "often"}, "/error", "~give a number of frames"},
          {all, {"--every", "4"}, "test:VideosCommand.FramesAreAnsweredAsThePicturesThatTheyAre"},
          {all, {"--frames", "3"}, "test:VideosCommand.FramesAreAnsweredAsThePicturesThatTheyAre"}};
}

std::vector<OptionRow> energy() {
  const char* all = "infer|quantize|detect|faces";
  return {{all, {"--idle", "1.5"}, "/around/idle_s", 1.5},
          {all, {"--meter", "run:cat f#power=W"}, "/around/meters", {"run:cat f#power=W"}},
          {all, {"--assume-power", "cpu=65W,idle=20W,gpu=150W"}, "/around/assumed", {65.0, 20.0, 150.0, nullptr}}};
}

std::vector<OptionRow> calibrating() {
  const char* calibrate = "calibrate";
  return {{calibrate, {"--data", "synth:digits:50"}, "/data", "synth:digits:50"},
          {calibrate, {"--split", "50/20/30"}, "/split", "50/20/30"},
          {calibrate, {"--seed", "7"}, "/seed", 7},
          {calibrate, {"--images", "45"}, "/images", 45},
          {calibrate, {"--images", "3"}, "test:Calibrate.RefusesWhatCantBeCalibrated"},
          {calibrate, {"--unknown", "0.125"}, "/unknown", 0.125},
          {calibrate, {"--unlike", "there"}, "test:Calibrate.TheCommandFindsWhatTheTrainingFound"},
          {calibrate, {"--json", "-"}, "test:Calibrate.TheCommandFindsWhatTheTrainingFound"},
          {calibrate, {"--quiet", "true"}, "test:Calibrate.TheCommandFindsWhatTheTrainingFound"}};
}

std::vector<OptionRow> exporting() {
  const char* exports = "export";
  return {{exports, {"MODEL", "resnet32"}, "/model", "resnet32"},
          {exports, {"--onnx", "other.onnx"}, "/onnx", "other.onnx"},
          {exports, {"--onnx", "other.pt"}, "/error", "~has to end in .onnx"},
          {exports, {"--weights", "w.pt"}, "/weights", "w.pt"},
          {exports, {"--size", "20x10"}, "/width", 20},
          {exports, {"--size", "20x10"}, "/height", 10},
          {exports, {"--channels", "1"}, "/channels", 1},
          {exports, {"--classes", "7"}, "/classes", 7},
          {exports, {"--normalize", "data"}, "/error", "~needs training images"},
          {exports, {"--normalize", "imagenet"}, "test:ExportCommand.RandomWeightsAreSaidToBe"},
          {exports, {"--normalize-inside", "true"}, "test:ExportCommand.ARunBecomesAFileThatIsRun"},
          {exports, {"--uncalibrated", "true"}, "test:Calibrate.AnExportedFileSaysTheSame"},
          {exports, {"--overwrite", "true"}, "test:ExportCommand.AnOlderFileIsReplacedOnlyWhereAsked"},
          {"share", {"RUN", "{}/nothing"}, "/run/err", "~nothing"},
          {"share", {"--html", "page.html"}, "test:Infer.SharePageTellsWhatIsRecognisedAndHowToUseIt"}};
}

json scenario_json(const inference::ScenarioFlags& flags) {
  if (!flags.wanted()) return nullptr;
  const inference::ScenarioOptions options = flags.scenario_options(1000);
  return {{"scenario", static_cast<int>(options.scenario)},
          {"samples_per_query", options.samples_per_query},
          {"percentile", options.percentile},
          {"latency_limit_s", options.latency_limit_s},
          {"target_rate", value_or_null(options.target_rate)},
          {"min_duration_s", options.min_duration_s},
          {"seeds",
           {options.seeds.sample_set, options.seeds.sample_index, options.seeds.schedule, options.seeds.accuracy_log}}};
}

json handed_to_inference(const Words& given) {
  inference::InferCommandFlags flags;
  give_all(flags.options(), given);
  const placement::Plan plan = flags.placement.plan();
  const Precision precision = flags.placement.precision_on(plan);
  const bool is_picture_network = flags.model.model->starts_with("resnet");
  return {{"request", request_json(inference::inference_request(flags))},
          {"seen", is_picture_network ? seen_json(flags.model) : json()},
          {"infer", infer_json(infer_options(flags, plan, precision, threads_of(flags.placement)))},
          {"scenario", scenario_json(flags.scenario)},
          {"around", around_json(run_options(flags, plan, "w.pt"))}};
}

json handed_to_calibration(const Words& given) {
  inference::CalibrateFlags flags;
  give_all(flags.options(), given);
  const placement::Plan plan = flags.placement.plan();
  inference::InferOptions infer = flags.placement.infer_options(plan, flags.placement.precision_on(plan));
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

json handed_to_export(const Words& given) {
  inference::ExportFlags flags;
  give_all(flags.options(), given);
  json told = model_json(flags.request());
  told["onnx"] = *flags.onnx;
  return told;
}

const bool kInferIsAdded =
    add_to_option_table({{"infer",
                          {"MODEL", "resnet20"},
                          {"MODEL", "{}/run", "IMAGES", "synth:digits:100", "--seconds", "0", "--out", "{}/out", "--on",
                           "cpu/t1", "--engine", "torch"},
                          handed_to_inference},
                         {"calibrate", {"MODEL", "resnet20"}, {}, handed_to_calibration},
                         {"export", {"MODEL", "resnet20", "--onnx", "there.onnx"}, {}, handed_to_export},
                         {"share", {}, {"RUN", "{}/other"}, nullptr}},
                        {shown_network(), where_computed(), what_is_shown(), answers(), scenarios(), videos(), energy(),
                         calibrating(), exporting()});

}  // namespace
}  // namespace evener::test
