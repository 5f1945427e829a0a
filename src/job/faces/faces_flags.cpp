#include "job/faces/faces_flags.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/precision.h"
#include "base/utf8.h"
#include "job/inference/inference_flags.h"
#include "job/options/data_flags.h"

namespace evener::job {
namespace {

/// Numbers from 0 to 1 with commas between, as many as `expected`, an example of them, has.
std::vector<float> parse_thresholds(const std::string& text, const std::string& expected) {
  const auto wanted = static_cast<std::size_t>(std::ranges::count(expected, ',') + 1);
  std::vector<float> thresholds;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    char* end = nullptr;
    const float value = std::strtof(part.c_str(), &end);
    if (part.empty() || *end != '\0' || !(value >= 0 && value <= 1)) break;
    thresholds.push_back(value);
  }
  if (thresholds.size() == wanted && static_cast<std::size_t>(std::ranges::count(text, ',') + 1) == wanted) {
    return thresholds;
  }
  throw UsageError(wanted == 1 ? "--thresholds '" + text + "' is no number from 0 to 1, as in " + expected
                               : "--thresholds '" + text + "' are not three numbers from 0 to 1, as in " + expected);
}

constexpr const char* kNoDetectorWeights =
    "name the weights of the face detector. --detector-weights mtcnn downloads MTCNN's once (pnet.pt, rnet.pt and "
    "onet.pt of facenet-pytorch, MIT); or 'evener data fetch mtcnn --out weights' gets them, and it is "
    "--detector-weights weights/mtcnn. --detector FILE.onnx finds faces by another network: YuNet of OpenCV Zoo (MIT), "
    "or SCRFD of InsightFace, whose published weights are for research that isn't commercial";

}  // namespace

task::FacesOptions FaceNetworkFlags::options() const {
  task::FacesOptions options;
  options.detector = detector_request();
  options.embedder = embedder_request();
  options.margin = *margin;
  options.all = !*largest;
  options.turn = *rotate == "auto";
  return options;
}

task::DetectorRequest FaceNetworkFlags::detector_request() const {
  task::check_detector(*detector);
  task::DetectorRequest request;
  request.name = *detector;
  if (task::is_foreign_model(*detector)) {
    for (const OptionBase* option : std::initializer_list<const OptionBase*>{&detector_weights, &factor}) {
      if (option->given())
        throw UsageError(option->name() + " is for mtcnn; leave it out with --detector " + *detector);
    }
    if (!detector_size->empty()) {
      const ImageSize seen = parse_image_size(*detector_size);
      request.file.size = {seen.width, seen.height};
    }
    if (!thresholds->empty()) request.file.least_score = parse_thresholds(*thresholds, "0.5").front();
    request.file.min_size = min_size->value_or(0);
    return request;
  }
  if (detector_size.given()) {
    throw UsageError(detector_size.name() + " is for a detector in a file; mtcnn sees photos at several sizes");
  }
  if (detector_weights->empty()) throw UsageError(kNoDetectorWeights);
  request.weights = *detector_weights;
  if (*min_size) request.mtcnn.min_size = **min_size;
  if (!thresholds->empty())
    std::ranges::copy(parse_thresholds(*thresholds, "0.6,0.7,0.7"), request.mtcnn.thresholds.begin());
  request.mtcnn.factor = *factor;
  return request;
}

task::EmbedderRequest FaceNetworkFlags::embedder_request() const {
  task::check_embedder(*embedder);
  task::EmbedderRequest request;
  request.name = *embedder;
  request.weights = *weights;
  if (!cut->empty()) request.cut = *cut == "upright" ? task::FaceCut::kUpright : task::FaceCut::kBox;
  if (task::is_foreign_model(*embedder)) {
    InferModelFlags file;
    GivenWords words;
    tell_words(words);
    words["model"] = {to_utf8_text(*embedder)};
    file.inherit(words);
    take_sidecar(file);
    request.file = file.request(/*features=*/false, /*seed=*/1);
    request.file.calibrated = false;
    return request;
  }
  for (const OptionBase* option : std::initializer_list<const OptionBase*>{&size, &normalize, &channel_order}) {
    if (option->given()) {
      throw UsageError(option->name() + " is for a network in a file; " + *embedder + " sees faces as it was trained");
    }
  }
  return request;
}

placement::Plan FacesPlacementFlags::plan() const {
  placement::Plan plan = plan_on(*on, {.replicas = placement::ReplicasAs::kThreads});
  if (placement::stage_count(plan) > 1) {
    throw UsageError("'" + *on +
                     "' divides layers over devices, which finding faces doesn't do; use +, as in cpu/t1+cpu/t1");
  }
  return plan;
}

std::uint64_t FacesPlacementFlags::memory_bytes() const {
  if (memory->empty()) return 0;
  char* end = nullptr;
  const double number = std::strtod(memory->c_str(), &end);
  constexpr std::pair<std::string_view, double> kUnits[] = {{"MB", 1e6}, {"M", 1e6}, {"GB", 1e9}, {"G", 1e9}};
  const auto* const unit =
      std::ranges::find(kUnits, std::string_view(end), &std::pair<std::string_view, double>::first);
  if (unit == std::end(kUnits) || !(number > 0 && number < 1e9)) {
    throw UsageError("--memory '" + *memory + "' is no size such as 600MB or 2GB");
  }
  return static_cast<std::uint64_t>(number * unit->second);
}

nlohmann::json FacesCommandFlags::config() const {
  nlohmann::json config = nlohmann::json::object();
  for (const OptionGroup* group :
       std::initializer_list<const OptionGroup*>{&photos, &videos, &networks, &comparison, &placement, &output}) {
    group->record(config);
  }
  return config;
}

}  // namespace evener::job
