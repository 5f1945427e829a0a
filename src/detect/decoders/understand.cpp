#include "detect/decoders/understand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "infer/model/class_output.h"
#include "infer/model/metadata.h"

namespace evener::detection {
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

/// For networks that list what they found, and so don't tell how many classes they know.
constexpr std::size_t kClassesOfCoco = 80, kNumbersOfCoco = 90;

/// The names that --decoder takes, each with the families that it is for.
struct KnownDecoder {
  const char *name, *families;
};
constexpr KnownDecoder kDecoders[] = {
    {"yolov5", "YOLOv5, YOLOv7"},
    {"yolov6", "YOLOv6"},
    {"yolov8", "YOLOv8, YOLO11, YOLO12"},
    {"yolox", "YOLOX"},
    {"rows", "YOLOv10, YOLO26 and others with rows of six; OpenVINO's DetectionOutput"},
    {"lists", "boxes, classes and scores of TensorFlow, TensorFlow Lite, RT-DETR; of others with classes from 0"},
    {"torchvision", "the same with classes from 1, as torchvision's detectors count them"},
    {"detr", "DETR, Deformable DETR and their kin"},
    {"boxes-and-scores", "YOLO-NAS, YOLOv4, SSD"},
    {"faces", "SCRFD, YuNet, RetinaFace"},
};

std::string outputs_in(const DetectorFile& file) {
  std::vector<std::string> texts;
  for (const TrialOutput& output : file.outputs) {
    texts.push_back(inference::output_text({.name = output.name, .shape = output.shape}));
    if (!output.values.empty()) texts.back() += fmt::format(" ({})", extent_text(output.values));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string families_text() {
  std::vector<std::string> texts;
  for (const KnownDecoder& known : kDecoders) texts.push_back(fmt::format("{} ({})", known.name, known.families));
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// What Ultralytics' files say they are for.
void refuse_other_tasks(const DetectorFile& file, const std::string& model) {
  static const std::map<std::string, const char*> kTasks = {
      {"segment", "a segmenter (task \"segment\" in its metadata)"},
      {"classify", "a classifier (task \"classify\")"},
      {"pose", "a network for poses (task \"pose\", or \"kpt_shape\", in its metadata)"},
      {"obb", "a detector of turned boxes (task \"obb\")"}};
  const auto told = file.metadata.find("task");
  const bool has_points = told == file.metadata.end() && file.metadata.contains("kpt_shape");
  const auto task = kTasks.find(has_points ? "pose" : told == file.metadata.end() ? "" : told->second);
  if (task == kTasks.end()) return;
  const char* const advice = task->first == "classify" ? "; 'evener infer' runs it" : "";
  throw UsageError(fmt::format("'{}' is {}, not a detector of upright boxes{}", model, task->second, advice));
}

/// Why outputs that no decoder reads are none of a detector, where that is plain.
std::string what_else_it_is(const DetectorFile& file) {
  if (file.outputs.size() == 1 && file.outputs.front().shape.size() == 1) {
    return "it gives one row of values for an image, as classifiers and embedders do; see 'evener infer'";
  }
  const bool has_maps = std::ranges::any_of(file.outputs, [&](const TrialOutput& output) {
    return output.shape.size() == 3 && output.shape[1] >= file.height / 8 && output.shape[2] >= file.width / 8 &&
           output.shape[1] > 1 && output.shape[2] > 1;
  });
  return has_maps ? "it gives maps of the image's places, as segmenters do" : "";
}

/// Names of all classes, and whose they are.
void name_classes(RecognisedDetector& detector, const DetectorFile& file, const std::string& model) {
  std::size_t& count = detector.class_count;
  if (!file.classes.empty()) {
    detector.classes = inference::names_of_classes(file.classes, count == 0 ? file.classes.size() : count);
    if (!detector.classes.empty()) return;
    throw UsageError(fmt::format("'{}' tells {} classes apart, but there are {} names of classes; its outputs are {}",
                                 model, count, file.classes.size(), outputs_in(file)));
  }
  if (count == 0) {
    if (file.names_are_unread) {
      throw UsageError(fmt::format("'{}' has names of classes that can't be read; --labels FILE names them", model));
    }
    const bool has_gaps = detector.first_class != 0 || detector.family.starts_with("TensorFlow");
    count = has_gaps ? kNumbersOfCoco : kClassesOfCoco;
  }
  if (!file.names_are_unread) detector.classes = usual_names(count);
  if (!detector.classes.empty()) detector.named_by = count == 20 ? "VOC" : "COCO";
  const bool finds_faces = file.wanted == "faces" || detector.family == "SCRFD" || detector.family == "YuNet" ||
                           detector.family == "RetinaFace";
  for (std::size_t i = detector.classes.size(); i < count; ++i) {
    detector.classes.push_back(finds_faces ? "face" : fmt::format("class {}", i));
  }
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

bool TrialOutput::says(std::initializer_list<const char*> words) const {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(words, [&](const char* word) { return lower.find(word) != std::string::npos; });
}

RecognisedDetector::RecognisedDetector(std::string family_name, std::string normalized, BoxDecoder reader,
                                       std::size_t count)
    : inference::FileHabits{.decoder = std::make_shared<const BoxDecoder>(std::move(reader)),
                            .family = std::move(family_name),
                            .normalization = std::move(normalized)},
      class_count(count) {}

ScoreLook look_of(std::span<const float> scores) {
  constexpr float kRounding = 0.01F;
  const auto is_share = [](float score) { return score >= -kRounding && score <= 1 + kRounding; };
  if (std::ranges::all_of(scores, is_share)) return ScoreLook::kProbabilities;
  const auto negative = std::ranges::count_if(scores, [](float score) { return score < 0; });
  return 10 * negative >= 9 * std::ssize(scores) ? ScoreLook::kLogits : ScoreLook::kNeither;
}

std::string extent_text(std::span<const float> values) {
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{:.4g} to {:.4g}", least, most);
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

std::string synonym_of(const std::string& name) {
  for (const auto& [coco, voc] : kPairs) {
    if (name == coco) return voc;
    if (name == voc) return coco;
  }
  return "";
}

void check_decoder_name(const std::string& name) {
  std::vector<std::string> names;
  for (const KnownDecoder& known : kDecoders) names.emplace_back(known.name);
  if (std::ranges::find(names, name) == names.end()) throw UsageError(unknown_name_message("decoder", name, names));
}

inference::FileHabits understand(const DetectorFile& file, const std::string& model) {
  refuse_other_tasks(file, model);
  for (auto* const recognise : {recognise_faces, recognise_yolo, recognise_list, recognise_scored}) {
    auto detector = recognise(file);
    if (!detector) continue;
    if (!detector->doubt.empty()) {
      throw UsageError(
          fmt::format("'{}' looks like {}, but isn't surely understood: {}. Its outputs for an image of "
                      "{}x{} are {}",
                      model, detector->family, detector->doubt, file.width, file.height, outputs_in(file)));
    }
    name_classes(*detector, file, model);
    detector->crop = detector->crop.value_or(data::CropMode::kStretch);
    return *std::move(detector);
  }
  const std::string else_text = what_else_it_is(file);
  if (!file.wanted.empty()) {
    throw UsageError(fmt::format("'{}' isn't what --decoder {} reads: its outputs for an image of {}x{} are {}", model,
                                 file.wanted, file.width, file.height, outputs_in(file)));
  }
  throw UsageError(fmt::format(
      "'{}' is no detector that is known: its outputs for an image of {}x{} are {}{}{}. Known are, by the names that "
      "--decoder takes: {}",
      model, file.width, file.height, outputs_in(file), else_text.empty() ? "" : "; ", else_text, families_text()));
}

}  // namespace evener::detection
