#include "job/detect/box_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "report/format.h"

namespace evener::job {
namespace {

constexpr const char* kBoxesHeading = "file,class_name,score,x1,y1,x2,y2\n";

/// Only boxes that a person would look at count as mistakes, even where less likely ones are told.
constexpr float kWorthCounting = 0.3F;

/// Numbers are the shortest that give the same float32 again.
std::string csv_rows(const std::string& file, const task::FoundBoxes& found, const std::vector<std::string>& classes) {
  std::string rows;
  for (const task::Detection& box : found.boxes) {
    rows += fmt::format("{},{},{},{},{},{},{}\n", report::csv_cell(file),
                        report::csv_cell(classes[static_cast<std::size_t>(box.label)]), box.score, box.x1, box.y1,
                        box.x2, box.y2);
  }
  return rows;
}

std::string json_line(const task::FoundBoxes& found, const std::vector<std::string>& classes) {
  std::string boxes;
  for (const task::Detection& box : found.boxes) {
    const std::string name = nlohmann::json(to_utf8_text(classes[static_cast<std::size_t>(box.label)])).dump();
    boxes += fmt::format("{}{{\"class\":{},\"index\":{},\"score\":{},\"box\":[{},{},{},{}]}}", boxes.empty() ? "" : ",",
                         name, box.label, box.score, box.x1, box.y1, box.x2, box.y2);
  }
  return fmt::format("{{\"file\":{},\"width\":{},\"height\":{},\"detections\":[{}]}}\n",
                     nlohmann::json(to_utf8_text(found.file)).dump(), found.size.width, found.size.height, boxes);
}

/// "2 cat (0.98, 0.51), dog (0.77)".
std::string summary_of(const task::FoundBoxes& found, const std::vector<std::string>& classes) {
  constexpr std::size_t kMostScores = 5;
  std::map<std::int32_t, std::vector<float>> scores;
  for (const task::Detection& box : found.boxes) scores[box.label].push_back(box.score);
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

}  // namespace

BoxSink::BoxSink(const DetectFlags& flags, const task::Detector& detector, const task::Photos& photos, bool labelled,
                 const std::filesystem::path& folder, Observer& observer)
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
  if (format_ == "csv") observer_.tell(kBoxesHeading);
  if (folder.empty()) return;
  csv_path_ = folder / "detections.csv";
  csv_.emplace(csv_path_, std::ios::trunc);
  *csv_ << kBoxesHeading;
  if (!*csv_) throw Error(fmt::format("'{}' can't be written: {}", csv_path_.string(), std::strerror(errno)));
}

void BoxSink::take(const task::Prediction& prediction) {
  LookedAt photo{
      .index = prediction.index,
      .found = {all_.name(prediction.index), all_.photo_size(prediction.index), detector_.found(prediction, all_)},
      .truth = {},
      .matched = {}};
  task::FoundBoxes told = photo.found;
  std::erase_if(told.boxes, [&](const task::Detection& box) { return box.score < shown_confidence_; });
  boxes_ += told.boxes.size();
  boxes_left_out_ += photo.found.boxes.size() - told.boxes.size();
  without_boxes_ += told.boxes.empty() ? 1 : 0;
  if (labelled_) {
    photo.truth = all_.truth(prediction.index).value_or(std::vector<task::TrueBox>());
    const auto& wanted = detector_.options().labels;
    std::erase_if(photo.truth, [&](const task::TrueBox& box) {
      return !wanted.empty() && std::ranges::find(wanted, box.label) == wanted.end();
    });
    tally_.add(static_cast<std::int64_t>(prediction.index), photo.found.boxes, photo.truth);
    photo.matched = confusion_.add(photo.found.boxes, photo.truth);
  }
  tell(told);
  const bool is_for_later = all_.live() == nullptr || format_ == "coco" || format_ == "voc" || format_ == "yolo";
  if (is_for_later) looked_at_.push_back(std::move(photo));
}

void BoxSink::tell(const task::FoundBoxes& told) {
  const std::vector<std::string>& classes = detector_.classes();
  if (csv_) *csv_ << csv_rows(to_utf8_text(told.file), told, classes);
  if (format_ == "csv") {
    observer_.tell(csv_rows(told.file, told, classes));
  } else if (format_ == "jsonl") {
    observer_.tell(json_line(told, classes));
  } else if (format_ == "table") {
    observer_.tell(fmt::format("{}  {}\n", one_line(told.file), summary_of(told, classes)));
  }
}

std::string BoxSink::found_text() const {
  return boxes_ == 1 ? "1 box found" : fmt::format("{} boxes found", boxes_);
}

void BoxSink::finish() {
  if (format_ == "coco") {
    std::vector<data::BoxedFile> all;
    for (const LookedAt& photo : looked_at_) all.push_back(task::boxed_file(photo.found, coco_confidence_));
    observer_.tell(data::coco_text(all, detector_.classes()));
  }
  if (!csv_) return;
  csv_->close();
  if (!*csv_) throw Error(fmt::format("'{}' could not be written to its end: is the disk full?", csv_path_.string()));
}

}  // namespace evener::job
