#include "job/faces/face_settings.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "task/inference/inference_model.h"

namespace evener::job {
namespace {

/// A network in OpenVINO's format has its weights in a second file.
std::string content_text(const std::filesystem::path& file) {
  std::string text = fmt::format("{:016x}", task::content_of(file));
  std::filesystem::path weights = file;
  if (file.extension() == ".xml" && std::filesystem::exists(weights.replace_extension(".bin"))) {
    text += fmt::format(" {:016x}", task::content_of(weights));
  }
  return text;
}

/// Those of MTCNN are as they were before there were other detectors, so that journals from then can be gone on with.
void add_detector_settings(nlohmann::json& settings, const task::DetectorRequest& detector) {
  const bool in_file = task::is_foreign_model(detector.name);
  settings["--detector"] = in_file ? "a file of content " + content_text(detector.name) : "";
  settings["--detector-size"] = "";
  settings["--detector-weights"] = "";
  if (in_file) {
    const task::FaceDetectorFileOptions& file = detector.file;
    if (file.size) settings["--detector-size"] = fmt::format("{}x{}", file.size->width, file.size->height);
    settings["--min-size"] = file.min_size;
    settings["--thresholds"] = file.least_score ? fmt::format("{}", *file.least_score) : "";
    return;
  }
  const task::MtcnnOptions& mtcnn = detector.mtcnn;
  settings["--min-size"] = mtcnn.min_size;
  settings["--thresholds"] = fmt::format("{}", fmt::join(mtcnn.thresholds, ","));
  settings["--factor"] = mtcnn.factor;
  std::string weights = "files of content";
  for (const auto& file : task::detector_weight_files(detector.weights)) weights += " " + content_text(file);
  settings["--detector-weights"] = weights;
}

}  // namespace

nlohmann::json face_settings(const FaceNetworkFlags& flags, const FacesPlacementFlags& placement,
                             const task::EmbedderRequest& embedder, const task::DetectorRequest& detector) {
  nlohmann::json settings = {{"--embedder", *flags.embedder}, {"--margin", *flags.margin},
                             {"--largest", *flags.largest},   {"--rotate", *flags.rotate},
                             {"--cut", *flags.cut},           {"--precision", *placement.precision}};
  if (task::is_foreign_model(*flags.embedder)) {
    settings["--embedder"] = "a file of content " + content_text(*flags.embedder);
    // A file beside the network's may have said so, which can change.
    settings["--size"] =
        fmt::format("{}x{}", embedder.file.model.width.value_or(0), embedder.file.model.height.value_or(0));
    settings["--normalize"] = embedder.file.normalization.text;
    settings["--channel-order"] = embedder.file.reverse_channels ? "bgr" : "rgb";
  }
  settings["--weights"] = flags.weights->empty() ? "random ones" : "a file of content " + content_text(*flags.weights);
  add_detector_settings(settings, detector);
  return settings;
}

}  // namespace evener::job
