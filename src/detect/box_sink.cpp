#include "detect/box_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/csv.h"
#include "base/files.h"
#include "base/plural.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "report/format.h"

namespace evener::detection {
namespace {

using report::percent_text;

constexpr const char* kBoxesHeading = "file,class_name,score,x1,y1,x2,y2";

/// Only boxes that a person would look at count as mistakes, even where less likely ones are told.
constexpr float kWorthCounting = 0.3F;

/// Numbers are the shortest that give the same float32 again.
std::string csv_rows(const std::string& file, const FoundBoxes& found, const std::vector<std::string>& classes) {
  std::string rows;
  for (const Detection& box : found.boxes) {
    rows +=
        fmt::format("{},{},{},{},{},{},{}\n", csv_cell(file), csv_cell(classes[static_cast<std::size_t>(box.label)]),
                    box.score, box.x1, box.y1, box.x2, box.y2);
  }
  return rows;
}

std::string json_line(const FoundBoxes& found, const std::vector<std::string>& classes) {
  std::string boxes;
  for (const Detection& box : found.boxes) {
    const std::string name = nlohmann::json(to_utf8_text(classes[static_cast<std::size_t>(box.label)])).dump();
    boxes += fmt::format("{}{{\"class\":{},\"index\":{},\"score\":{},\"box\":[{},{},{},{}]}}", boxes.empty() ? "" : ",",
                         name, box.label, box.score, box.x1, box.y1, box.x2, box.y2);
  }
  return fmt::format("{{\"file\":{},\"width\":{},\"height\":{},\"detections\":[{}]}}\n",
                     nlohmann::json(to_utf8_text(found.file)).dump(), found.size.width, found.size.height, boxes);
}

/// "2 cat (0.98, 0.51), dog (0.77)".
std::string summary_of(const FoundBoxes& found, const std::vector<std::string>& classes) {
  constexpr std::size_t kMostScores = 5;
  std::map<std::int32_t, std::vector<float>> scores;
  for (const Detection& box : found.boxes) scores[box.label].push_back(box.score);
  std::string text;
  for (const auto& [label, of_class] : scores) {
    std::string some;
    for (std::size_t i = 0; i < std::min(kMostScores, of_class.size()); ++i) {
      some += fmt::format("{}{:.2f}", i == 0 ? "" : ", ", of_class[i]);
    }
    if (of_class.size() > kMostScores) some += ", ...";
    text += fmt::format("{}{}{} ({})", text.empty() ? "" : ", ",
                        of_class.size() == 1 ? "" : std::to_string(of_class.size()) + " ",
                        one_line(classes[static_cast<std::size_t>(label)]), some);
  }
  return text.empty() ? "-" : text;
}

/// The most points of a curve on the page.
constexpr std::size_t kMostPoints = 400;

struct Line {
  const char* name;
  const char* label;
  std::optional<double> value;
};

/// The twelve lines of COCO's summary, in its order.
std::array<Line, 12> coco_lines(const CocoSummary& coco) {
  return {{{"coco_ap", "mAP at 0.5 to 0.95 (COCO)", coco.ap},
           {"coco_ap_50", "COCO's AP at 0.50", coco.ap_50},
           {"coco_ap_75", "COCO's AP at 0.75", coco.ap_75},
           {"coco_ap_small", "COCO's AP of small objects", coco.ap_small},
           {"coco_ap_medium", "COCO's AP of medium objects", coco.ap_medium},
           {"coco_ap_large", "COCO's AP of large objects", coco.ap_large},
           {"coco_ar_1", "COCO's AR with 1 box", coco.ar_1},
           {"coco_ar_10", "COCO's AR with 10 boxes", coco.ar_10},
           {"coco_ar_100", "COCO's AR with 100 boxes", coco.ar_100},
           {"coco_ar_small", "COCO's AR of small objects", coco.ar_small},
           {"coco_ar_medium", "COCO's AR of medium objects", coco.ar_medium},
           {"coco_ar_large", "COCO's AR of large objects", coco.ar_large}}};
}

/// `stands_in_for`: another figure; sentences mention this one only where that one is absent.
void add_quality(record::Record& record, const Line& line, const char* title, std::int64_t images,
                 const char* stands_in_for = "") {
  record::Metric metric = record::quality_share(line.name, title, line.label, line.value, images);
  metric.stands_in_for = stands_in_for;
  if (!line.value) metric.reason = "the data has no such box";
  record::add_metric(record, std::move(metric));
}

std::string value_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.8f}", *value) : "";
}

/// About evenly spread points of a long curve, its ends among them.
void thin(std::vector<double>& values) {
  if (values.size() <= kMostPoints) return;
  std::vector<double> some;
  for (std::size_t i = 0; i < kMostPoints; ++i) some.push_back(values[i * (values.size() - 1) / (kMostPoints - 1)]);
  values = std::move(some);
}

}  // namespace

BoxSink::BoxSink(const DetectFlags& flags, const Detector& detector, const Photos& photos, bool labelled,
                 const std::filesystem::path& folder, measure::Observer& observer)
    : detector_(detector),
      all_(photos),
      observer_(observer),
      labelled_(labelled),
      shown_confidence_(flags.boxes.least_to_tell()),
      mistake_confidence_(std::max(kWorthCounting, shown_confidence_)),
      coco_confidence_(labelled && !flags.boxes.confidence.given() ? 0 : shown_confidence_),
      format_(*flags.output.format),
      tally_(detector.classes().size()),
      confusion_(detector.classes().size(), mistake_confidence_) {
  if (format_.empty()) format_ = labelled || *flags.output.json == "-" ? "none" : "table";
  if (format_ == "csv") observer_.tell(std::string(kBoxesHeading) + "\n");
  if (!folder.empty()) csv_.emplace(folder / "detections.csv", kBoxesHeading);
}

void BoxSink::take(const inference::Prediction& prediction) {
  LookedAt photo{
      .index = prediction.index,
      .found = {all_.name(prediction.index), all_.photo_size(prediction.index), detector_.found(prediction, all_)},
      .truth = {},
      .matched = {}};
  FoundBoxes told = photo.found;
  std::erase_if(told.boxes, [&](const Detection& box) { return box.score < shown_confidence_; });
  boxes_ += told.boxes.size();
  boxes_left_out_ += photo.found.boxes.size() - told.boxes.size();
  without_boxes_ += told.boxes.empty() ? 1 : 0;
  if (labelled_) {
    photo.truth = all_.truth(prediction.index).value_or(std::vector<TrueBox>());
    const auto& wanted = detector_.options().labels;
    std::erase_if(photo.truth, [&](const TrueBox& box) {
      return !wanted.empty() && std::ranges::find(wanted, box.label) == wanted.end();
    });
    tally_.add(static_cast<std::int64_t>(prediction.index), photo.found.boxes, photo.truth);
    photo.matched = confusion_.add(photo.found.boxes, photo.truth);
  }
  tell(told);
  const bool is_for_later = all_.live() == nullptr || format_ == "coco" || format_ == "voc" || format_ == "yolo";
  if (is_for_later) looked_at_.push_back(std::move(photo));
}

void BoxSink::tell(const FoundBoxes& told) {
  const std::vector<std::string>& classes = detector_.classes();
  if (csv_) csv_->add(csv_rows(told.file, told, classes));
  if (format_ == "csv") {
    observer_.tell(csv_rows(told.file, told, classes));
  } else if (format_ == "jsonl") {
    observer_.tell(json_line(told, classes));
  } else if (format_ == "table") {
    observer_.tell(fmt::format("{}  {}\n", one_line(told.file), summary_of(told, classes)));
  }
}

std::string BoxSink::found_text() const {
  return counted(boxes_, "box", "boxes") + " found";
}

void BoxSink::finish() {
  if (format_ == "coco") {
    std::vector<data::BoxedFile> all;
    for (const LookedAt& photo : looked_at_) all.push_back(boxed_file(photo.found, coco_confidence_));
    observer_.tell(data::coco_text(all, detector_.classes()));
  }
}

void fill_detection(record::Record& record, const BoxSink& writer, const DetectionQuality* quality) {
  const auto add_count = [&](const char* name, const char* title, const char* label, auto value) {
    record::add_metric(record, record::plain_number(name, title, label, static_cast<double>(value)));
  };
  add_count("boxes", "boxes", "boxes found", writer.boxes());
  add_count("images_without_boxes", "without", "images without a box found", writer.without_boxes());
  if (quality == nullptr) return;
  add_count("true_boxes", "", "boxes to be found", quality->true_boxes);
  add_quality(record, {"map_50", "mAP at 0.5 (VOC 2010)", quality->voc_2010}, "mAP@0.5", quality->images);
  add_quality(record, {"map_50_voc_2007", "mAP at 0.5 (VOC 2007, 11 points)", quality->voc_2007}, "", quality->images,
              "map_50");
  for (const Line& line : coco_lines(quality->coco)) {
    const bool is_main = line.name == std::string_view("coco_ap");
    add_quality(record, line, is_main ? "mAP@0.5:0.95" : "", quality->images, is_main ? "" : "map_50");
  }
}

std::string quality_text(const DetectionQuality& quality, const std::vector<std::string>& classes) {
  std::string text = fmt::format("mAP@0.5                   {} (VOC 2010: all points), {} (VOC 2007: 11 points)\n",
                                 percent_text(quality.voc_2010), percent_text(quality.voc_2007));
  text += fmt::format("mAP@0.5:0.95              {} (COCO), {} at 0.5, {} at 0.75\n", percent_text(quality.coco.ap),
                      percent_text(quality.coco.ap_50), percent_text(quality.coco.ap_75));
  text += fmt::format("of small, medium, large   {}, {}, {}\n", percent_text(quality.coco.ap_small),
                      percent_text(quality.coco.ap_medium), percent_text(quality.coco.ap_large));
  text += fmt::format("recall, 1, 10, 100 boxes  {}, {}, {}\n", percent_text(quality.coco.ar_1),
                      percent_text(quality.coco.ar_10), percent_text(quality.coco.ar_100));
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const ClassPrecision& of_class = quality.classes[c];
    if (of_class.true_boxes == 0) continue;
    const std::string name = one_line(classes[c]);
    text += fmt::format(
        "  {}{}{}@0.5, {}@0.5:0.95 ({})\n", name,
        std::string(std::max<std::size_t>(26, report::display_width(name) + 3) - 2 - report::display_width(name), ' '),
        percent_text(of_class.voc_2010), percent_text(of_class.coco), counted(of_class.true_boxes, "box", "boxes"));
  }
  return text;
}

void write_metrics(const std::filesystem::path& path, const DetectionQuality& quality,
                   const std::vector<std::string>& classes) {
  std::string text = "class,metric,value\n";
  const auto add = [&](const std::string& name, const char* metric, const std::string& value) {
    text += fmt::format("{},{},{}\n", csv_cell(name), metric, value);
  };
  add("all", "images", std::to_string(quality.images));
  add("all", "true_boxes", std::to_string(quality.true_boxes));
  add("all", "found_boxes", std::to_string(quality.found_boxes));
  add("all", "map_50", value_text(quality.voc_2010));
  add("all", "map_50_voc_2007", value_text(quality.voc_2007));
  for (const Line& line : coco_lines(quality.coco)) add("all", line.name, value_text(line.value));
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const ClassPrecision& of_class = quality.classes[c];
    add(classes[c], "true_boxes", std::to_string(of_class.true_boxes));
    add(classes[c], "found_boxes", std::to_string(of_class.found_boxes));
    add(classes[c], "ap_50", value_text(of_class.voc_2010));
    add(classes[c], "ap_50_voc_2007", value_text(of_class.voc_2007));
    add(classes[c], "coco_ap", value_text(of_class.coco));
    add(classes[c], "coco_ap_50", value_text(of_class.coco_50));
  }
  write_file_atomically(path, text);
}

record::DetectionFigures detection_figures(const BoxSink& writer, const DetectionQuality& quality,
                                           const std::vector<std::string>& classes) {
  record::DetectionFigures figures;
  figures.confidence = double{writer.mistake_confidence()};
  figures.confusion = writer.confusion().counts();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const ClassPrecision& of_class = quality.classes[c];
    PrecisionCurve curve = precision_curve(writer.tally(), static_cast<std::int32_t>(c));
    for (std::vector<double>* values : {&curve.recall, &curve.precision, &curve.score}) thin(*values);
    figures.classes.push_back({classes[c], of_class.true_boxes, of_class.voc_2007, of_class.voc_2010, of_class.coco,
                               std::move(curve.recall), std::move(curve.precision), std::move(curve.score)});
  }
  return figures;
}

}  // namespace evener::detection
