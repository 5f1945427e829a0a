#include "job/faces/faces_flags.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/precision.h"
#include "base/utf8.h"
#include "job/inference/inference_flags.h"
#include "job/inference/model_sidecar.h"
#include "placement/machine.h"
#include "placement/placement.h"

namespace evener::job {
namespace {

std::array<float, 3> parse_thresholds(const std::string& text) {
  std::array<float, 3> thresholds{};
  std::istringstream stream(text);
  std::size_t count = 0;
  for (std::string part; std::getline(stream, part, ','); ++count) {
    char* end = nullptr;
    const float value = std::strtof(part.c_str(), &end);
    const bool good = !part.empty() && *end == '\0' && value >= 0 && value <= 1;
    if (!good || count == 3) {
      count = 0;
      break;
    }
    thresholds[count] = value;
  }
  if (count != 3) throw UsageError("--thresholds '" + text + "' are not three numbers from 0 to 1, as in 0.6,0.7,0.7");
  return thresholds;
}

}  // namespace

task::FacesOptions FaceNetworkFlags::options() const {
  if (detector_weights->empty()) {
    throw UsageError(
        "name the folder with the weights of the face detector (pnet.pt, rnet.pt and onet.pt of facenet-pytorch). "
        "--detector-weights mtcnn downloads them once; or 'evener data fetch mtcnn --out weights' gets them, and it is "
        "--detector-weights weights/mtcnn");
  }
  task::FacesOptions options;
  options.detector_weights = *detector_weights;
  options.embedder = embedder_request();
  options.detector = {*min_size, parse_thresholds(*thresholds), *factor};
  options.margin = *margin;
  options.all = !*largest;
  options.turn = *rotate == "auto";
  return options;
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
  const placement::Placement asked = placement::parse(*on);
  const placement::Placement placed = asked.automatic ? placement::parse("cpu") : asked;
  placement::PlanOptions options;
  options.replicas = placement::ReplicasAs::kThreads;
  placement::Plan plan = placement::make_plan(placed, placement::machine_for(placed), options);
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
