#include "task/detect/decoders/detector_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

namespace evener::task {
namespace {

// By COCO's numbers from 1 to 90; ten of them have no class. Each name ends with a semicolon.
constexpr std::string_view kCoco =
    "person;bicycle;car;motorcycle;airplane;bus;train;truck;boat;traffic light;fire hydrant;;stop sign;parking meter;"
    "bench;bird;cat;dog;horse;sheep;cow;elephant;bear;zebra;giraffe;;backpack;umbrella;;;handbag;tie;suitcase;frisbee;"
    "skis;snowboard;sports ball;kite;baseball bat;baseball glove;skateboard;surfboard;tennis racket;bottle;;wine glass;"
    "cup;fork;knife;spoon;bowl;banana;apple;sandwich;orange;broccoli;carrot;hot dog;pizza;donut;cake;chair;couch;"
    "potted plant;bed;;dining table;;;toilet;;tv;laptop;mouse;remote;keyboard;cell phone;microwave;oven;toaster;sink;"
    "refrigerator;;book;clock;vase;scissors;teddy bear;hair drier;toothbrush;";

constexpr std::string_view kVoc =
    "aeroplane;bicycle;bird;boat;bottle;bus;car;cat;chair;cow;diningtable;dog;horse;motorbike;person;pottedplant;sheep;"
    "sofa;train;tvmonitor;";

/// COCO's name and VOC's.
constexpr std::pair<const char*, const char*> kPairs[] = {
    {"airplane", "aeroplane"},       {"motorcycle", "motorbike"},     {"couch", "sofa"},
    {"dining table", "diningtable"}, {"potted plant", "pottedplant"}, {"tv", "tvmonitor"},
};

std::vector<std::string> parts(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return names;
}

}  // namespace

std::int64_t TrialOutput::columns() const {
  return shape.size() < 2 ? 1 : shape.back();
}

std::int64_t TrialOutput::rows() const {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) rows *= i + 1 < shape.size() || shape.size() == 1 ? shape[i] : 1;
  return rows;
}

std::string DetectorFile::told(const std::string& key) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

const TrialOutput* DetectorFile::named(std::initializer_list<const char*> words) const {
  for (const TrialOutput& output : outputs) {
    std::string name = output.name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (std::ranges::any_of(words, [&](const char* word) { return name.find(word) != std::string::npos; })) {
      return &output;
    }
  }
  return nullptr;
}

float probability_of(float logit) {
  return 1 / (1 + std::exp(-logit));
}

float logit_of(float probability) {
  return std::log(probability / (1 - probability));
}

bool has_logits(std::span<const float> values) {
  return std::ranges::any_of(values, [](float value) { return value < 0 || value > 1; });
}

std::vector<std::string> usual_names(std::size_t count) {
  if (count == 20) return parts(kVoc);
  if (count != 80 && count != 90 && count != 91) return {};
  std::vector<std::string> names = parts(kCoco);
  if (count == 80) {
    std::erase(names, "");
    return names;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = "no class " + std::to_string(i + 1);
  }
  if (count == 91) names.insert(names.begin(), "background");
  return names;
}

std::string usual_names_of(std::size_t count) {
  if (count == 20) return "VOC";
  return count == 80 || count == 90 || count == 91 ? "COCO" : "";
}

std::string synonym_of(const std::string& name) {
  for (const auto& [coco, voc] : kPairs) {
    if (name == coco) return voc;
    if (name == voc) return coco;
  }
  return "";
}

}  // namespace evener::task
