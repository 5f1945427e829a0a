#include "faces/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/precision.h"
#include "base/utf8.h"
#include "infer/model/cache_folder.h"
#include "infer/model/published_weights.h"
#include "infer/session/options.h"
#include "options/data_flags.h"
#include "options/placement_values.h"

namespace evener::faces {
namespace {

/// A number from 0 to 1, or as many as `usual` has with commas between: for each network of a detector. A single one
/// is for the last of them; those before it keep the usual ones.
std::vector<float> parse_confidence(const std::string& text, std::vector<float> usual) {
  std::vector<float> given;
  std::istringstream stream(text + ",");
  for (std::string part; std::getline(stream, part, ',');) {
    const auto value = to_number<float>(part);
    given.push_back(value && *value >= 0 && *value <= 1 ? *value : -1);
  }
  if (std::ranges::count(given, -1) == 0 && (given.size() == 1 || given.size() == usual.size())) {
    std::ranges::copy_backward(given, usual.end());
    return usual;
  }
  throw UsageError(fmt::format("--confidence {} is not a number from 0 to 1, as in 0.5{}", quoted_text(text),
                               usual.size() == 1 ? "" : ", nor three of them, as in 0.6,0.7,0.7"));
}

constexpr const char* kNoDetectorWeights =
    "name the weights of the face detector. --detector-weights mtcnn downloads MTCNN's once (pnet.pt, rnet.pt and "
    "onet.pt of facenet-pytorch, MIT); or 'evener data fetch mtcnn --out weights' gets them, and it is "
    "--detector-weights weights/mtcnn. --detector FILE.onnx finds faces by another network: YuNet of OpenCV Zoo (MIT), "
    "or SCRFD of InsightFace, whose published weights are for research that isn't commercial";

}  // namespace

FacesOptions FaceNetworkFlags::options() const {
  FacesOptions options;
  options.detector = detector_request();
  options.embedder = embedder_request();
  options.margin = *margin;
  options.all = !*largest;
  options.turn = *rotate == "auto";
  return options;
}

DetectorRequest FaceNetworkFlags::detector_request() const {
  check_detector(*detector);
  DetectorRequest request;
  request.name = *detector;
  if (inference::is_foreign_model(*detector)) {
    for (const OptionBase* option : std::initializer_list<const OptionBase*>{&detector_weights, &factor}) {
      if (option->given())
        throw UsageError(option->name() + " is for mtcnn; leave it out with --detector " + *detector);
    }
    if (!detector_size->empty()) {
      const ImageSize seen = parse_image_size(*detector_size);
      request.file.size = {seen.width, seen.height};
    }
    if (!confidence->empty()) request.file.least_score = parse_confidence(*confidence, {0}).front();
    request.file.min_size = min_size->value_or(0);
    return request;
  }
  if (detector_size.given()) {
    throw UsageError(detector_size.name() + " is for a detector in a file; mtcnn sees photos at several sizes");
  }
  if (detector_weights->empty()) throw UsageError(kNoDetectorWeights);
  request.weights = *detector_weights;
  if (*min_size) request.mtcnn.min_size = **min_size;
  auto& least = request.mtcnn.thresholds;
  if (!confidence->empty())
    std::ranges::copy(parse_confidence(*confidence, {least.begin(), least.end()}), least.begin());
  request.mtcnn.factor = *factor;
  return request;
}

EmbedderRequest FaceNetworkFlags::embedder_request() const {
  check_embedder(*embedder);
  EmbedderRequest request;
  request.name = *embedder;
  request.weights = *weights;
  if (!cut->empty()) request.cut = *cut == "upright" ? FaceCut::kUpright : FaceCut::kBox;
  if (inference::is_foreign_model(*embedder)) {
    inference::InferModelFlags file;
    GivenWords words;
    tell_words(words);
    words["model"] = {to_utf8_text(*embedder)};
    file.inherit(words);
    inference::take_sidecar(file);
    request.file = file.request(/*features=*/false, /*seed=*/1);
    request.file.calibrated = false;
    request.file.study = {};  // it is no detector
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

void complete(FacesCommandFlags& flags, measure::Observer* observer) {
  constexpr const char *kFacenet = "facenet", *kMtcnn = "mtcnn", *kOfFacenet = "inception_resnet_v1";
  FaceNetworkFlags& networks = flags.networks;
  if (*networks.weights == kFacenet && inference::named_weights(kFacenet, kOfFacenet)) {
    if (*networks.embedder != kOfFacenet) {
      throw UsageError(
          fmt::format("--weights facenet are those of {}, and --embedder is {}; leave --embedder out, or give the file "
                      "of its weights",
                      kOfFacenet, *networks.embedder));
    }
    inference::take_published(networks.weights, kFacenet, kOfFacenet, /*as_folder=*/false, observer);
    if (!networks.detector_weights.given() && *networks.detector == kMtcnn) networks.detector_weights.read({kMtcnn});
  }
  inference::take_weights(networks.weights, nullptr, *networks.embedder, observer);
  if (*networks.detector_weights == kMtcnn && *networks.detector == kMtcnn) {
    inference::take_published(networks.detector_weights, kMtcnn, "", /*as_folder=*/true, observer);
  }
}

MeasuredCommand measured_faces() {
  return measured_with(std::make_shared<FacesCommandFlags>(), "faces");
}

}  // namespace evener::faces
