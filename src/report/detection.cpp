#include "report/detection.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/terminal_text.h"
#include "base/utf8.h"

namespace evener::report {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostCurveBytes = 256 << 20;

json number(const std::optional<double>& value) {
  return value ? json(*value) : json();
}

std::optional<double> number_in(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

/// A file of another's may say anything: no sum of what is shown may leave its type.
std::int64_t count_in(const json& value) {
  constexpr std::uint64_t kMost = 1'000'000'000'000;
  const bool is_count = value.is_number_unsigned() && value.get<std::uint64_t>() <= kMost;
  if (!is_count) throw Error("it counts " + one_line(value.dump()) + ", which is no number of boxes");
  return value.get<std::int64_t>();
}

/// Each from 0 to 1.
std::vector<double> shares_in(const json& values) {
  std::vector<double> shares = values;
  if (std::ranges::all_of(shares, [](double share) { return share >= 0 && share <= 1; })) return shares;
  throw Error("a curve leaves the range from 0 to 1");
}

DetectedClass class_of(const json& one) {
  DetectedClass found{one.at("class"),
                      count_in(one.at("true_boxes")),
                      number_in(one.at("voc_2007")),
                      number_in(one.at("voc_2010")),
                      number_in(one.at("coco")),
                      shares_in(one.at("recall")),
                      shares_in(one.at("precision")),
                      shares_in(one.at("score"))};
  if (found.precision.size() != found.recall.size() || found.score.size() != found.recall.size()) {
    throw Error("the curve of " + found.name + " is damaged");
  }
  return found;
}

}  // namespace

void write_detection(const std::filesystem::path& path, const DetectionFigures& figures) {
  json text = {{"confidence", figures.confidence}, {"confusion", figures.confusion}};
  for (const DetectedClass& one : figures.classes) {
    text["classes"].push_back({{"class", to_utf8_text(one.name)},
                               {"true_boxes", one.true_boxes},
                               {"voc_2007", number(one.voc_2007)},
                               {"voc_2010", number(one.voc_2010)},
                               {"coco", number(one.coco)},
                               {"recall", one.recall},
                               {"precision", one.precision},
                               {"score", one.score}});
  }
  text["misses"] = json::array();
  for (const MissedImage& one : figures.misses) {
    text["misses"].push_back(
        {{"file", to_utf8_text(one.file)}, {"missed", one.missed}, {"wrong", one.wrong}, {"jpeg", one.jpeg_base64}});
  }
  write_file_atomically(path, text.dump() + "\n");
}

DetectionFigures read_detection(const std::filesystem::path& path) {
  DetectionFigures figures;
  try {
    const json text = json::parse(read_file(path, kMostCurveBytes));
    figures.confidence = text.at("confidence");
    for (const json& row : text.at("confusion")) {
      std::vector<std::int64_t>& counts = figures.confusion.emplace_back();
      for (const json& count : row) counts.push_back(count_in(count));
    }
    for (const json& one : text.at("classes")) figures.classes.push_back(class_of(one));
    for (const json& one : text.at("misses")) {
      figures.misses.push_back({one.at("file"), count_in(one.at("missed")), count_in(one.at("wrong")), one.at("jpeg")});
      if (!from_base64(figures.misses.back().jpeg_base64)) throw Error("an image is damaged");
    }
    const std::size_t rows = figures.classes.size() + 1;
    bool is_square = figures.confusion.size() == rows;
    for (const auto& row : figures.confusion) is_square = is_square && row.size() == rows;
    if (!is_square) throw Error("its confusion is not of its classes");
  } catch (const json::exception& error) {
    throw Error(path.string() + " can't be read: " + error.what());
  } catch (const Error& error) {
    throw Error(path.string() + " can't be read: " + error.what());
  }
  return figures;
}

}  // namespace evener::report
