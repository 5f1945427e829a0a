#include "record/detection.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "record/described_json.h"

namespace evener::record {
namespace {

constexpr std::uint64_t kMostFileBytes = 64 << 20;

constexpr std::uint64_t kMostCurveBytes = 256 << 20;
constexpr const char* kShares = "expected numbers from 0 to 1, as many as of recall";
constexpr const char* kBoxes = "expected a number of boxes";

/// A limit for counts in a foreign file, so that no sum of them overflows.
bool is_number_of_boxes(std::int64_t count) {
  return count >= 0 && count <= 1'000'000'000'000;
}

/// Whether `values` are shares, one for each point of the class's curve.
bool are_shares(const std::vector<double>& values, const DetectedClass& one) {
  return values.size() == one.recall.size() &&
         std::ranges::all_of(values, [](double share) { return share >= 0 && share <= 1; });
}

bool are_numbers_of_boxes(const std::vector<std::vector<std::int64_t>>& rows) {
  return std::ranges::all_of(rows, [](const auto& row) { return std::ranges::all_of(row, is_number_of_boxes); });
}

}  // namespace

void describe(auto& fields, Of<PredictedImage> auto& prediction) {
  fields.all_required("class", prediction.found, "file", prediction.file, "is_probability", prediction.is_probability);
  fields.value("map", prediction.map_base64);
  fields.all_required("png", prediction.png_base64, "score", prediction.score);
  fields.values("sure_mistake", prediction.is_sure_mistake, "sure_right", prediction.is_sure_right);
  fields.required("true_class", prediction.truth);
  fields.left_out_if(!prediction.is_unknown, "unknown", prediction.is_unknown);
  // Both strings become parts of an HTML page, so they must be plain base64.
  fields.check("png", !prediction.png_base64.empty() && from_base64(prediction.png_base64),
               "expected an image in base64");
  fields.check("map", from_base64(prediction.map_base64).has_value(), "expected an image in base64");
}

void write_predicted_images(const std::filesystem::path& path, const std::vector<PredictedImage>& predictions) {
  auto list = nlohmann::ordered_json::array();
  for (PredictedImage prediction : predictions) {
    for (std::string* name : {&prediction.file, &prediction.found, &prediction.truth}) *name = to_utf8_text(*name);
    list.push_back(described_json(prediction));
  }
  write_file_atomically(path, json_text(list) + "\n");
}

std::vector<PredictedImage> read_predicted_images(const std::filesystem::path& path) {
  const auto list = nlohmann::json::parse(read_file(path, kMostFileBytes), nullptr, false);
  if (!list.is_array()) throw Error(path.string() + " can't be read: it is no list of JSON");
  std::vector<PredictedImage> predictions;
  for (const nlohmann::json& one : list)
    read_described(one, path.string() + " can't be read", predictions.emplace_back());
  return predictions;
}

void describe(auto& fields, Of<DetectedClass> auto& one) {
  fields.required("class", one.name);
  fields.value("coco", one.coco);
  fields.all_required("precision", one.precision, "recall", one.recall, "score", one.score, "true_boxes",
                      one.true_boxes);
  fields.values("voc_2007", one.voc_2007, "voc_2010", one.voc_2010);
  fields.check("precision", are_shares(one.precision, one), kShares);
  fields.check("recall", are_shares(one.recall, one), kShares);
  fields.check("score", are_shares(one.score, one), kShares);
  fields.check("true_boxes", is_number_of_boxes(one.true_boxes), kBoxes);
}

void describe(auto& fields, Of<MissedImage> auto& image) {
  fields.all_required("file", image.file, "jpeg", image.jpeg_base64, "missed", image.missed, "wrong", image.wrong);
  fields.check("jpeg", from_base64(image.jpeg_base64).has_value(), "expected an image in base64");
  fields.check("missed", is_number_of_boxes(image.missed), kBoxes);
  fields.check("wrong", is_number_of_boxes(image.wrong), kBoxes);
}

void describe(auto& fields, Of<DetectionFigures> auto& figures) {
  fields.all_required("classes", figures.classes, "confidence", figures.confidence);
  fields.square("confusion", figures.confusion);
  fields.required("misses", figures.misses);
  fields.check("confusion", are_numbers_of_boxes(figures.confusion), kBoxes);
  fields.check("confusion", figures.confusion.size() == figures.classes.size() + 1,
               "expected a row of each class and of the background");
}

void write_detection(const std::filesystem::path& path, DetectionFigures figures) {
  for (DetectedClass& one : figures.classes) one.name = to_utf8_text(one.name);
  for (MissedImage& one : figures.misses) one.file = to_utf8_text(one.file);
  write_file_atomically(path, json_text(described_json(figures)) + "\n");
}

DetectionFigures read_detection(const std::filesystem::path& path) {
  const std::string source = path.string() + " can't be read";
  const auto parsed = nlohmann::json::parse(read_file(path, kMostCurveBytes), nullptr, false);
  if (parsed.is_discarded()) throw Error(source + ": it is not JSON");
  DetectionFigures figures;
  read_described(parsed, source, figures);
  return figures;
}

}  // namespace evener::record
