#include "job/detect/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/files.h"
#include "base/plural.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "report/format.h"

namespace evener::job {
namespace {

/// The most points of a curve on the page.
constexpr std::size_t kMostPoints = 400;

struct Line {
  const char* name;
  const char* label;
  std::optional<double> value;
};

/// The twelve lines of COCO's summary, in its order.
std::array<Line, 12> coco_lines(const task::CocoSummary& coco) {
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

void add_count(record::Record& record, const char* name, const char* title, const char* label, std::size_t value) {
  record::add_metric(record,
                     {.name = name, .unit = "", .title = title, .label = label, .value = static_cast<double>(value)});
}

/// `stands_in_for`: another figure; sentences mention this one only where that one is absent.
void add_quality(record::Record& record, const Line& line, const char* title, std::int64_t images,
                 const char* stands_in_for = "") {
  record::add_metric(record, {.name = line.name,
                              .unit = "share",
                              .title = title,
                              .label = line.label,
                              .role = record::MetricRole::kQuality,
                              .value = line.value,
                              .of_images = images,
                              .stands_in_for = stands_in_for,
                              .reason = line.value ? "" : "the data has no such box"});
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

void fill_detection(record::Record& record, const BoxSink& writer, const task::DetectionQuality* quality) {
  add_count(record, "boxes", "boxes", "boxes found", writer.boxes());
  add_count(record, "images_without_boxes", "without", "images without a box found", writer.without_boxes());
  if (quality == nullptr) return;
  add_count(record, "true_boxes", "", "boxes to be found", static_cast<std::size_t>(quality->true_boxes));
  add_quality(record, {"map_50", "mAP at 0.5 (VOC 2010)", quality->voc_2010}, "mAP@0.5", quality->images);
  add_quality(record, {"map_50_voc_2007", "mAP at 0.5 (VOC 2007, 11 points)", quality->voc_2007}, "", quality->images,
              "map_50");
  for (const Line& line : coco_lines(quality->coco)) {
    const bool is_main = line.name == std::string_view("coco_ap");
    add_quality(record, line, is_main ? "mAP@0.5:0.95" : "", quality->images, is_main ? "" : "map_50");
  }
}

std::string quality_text(const task::DetectionQuality& quality, const std::vector<std::string>& classes) {
  std::string text = fmt::format("mAP@0.5                   {} (VOC 2010: all points), {} (VOC 2007: 11 points)\n",
                                 report::percent_text(quality.voc_2010), report::percent_text(quality.voc_2007));
  text +=
      fmt::format("mAP@0.5:0.95              {} (COCO), {} at 0.5, {} at 0.75\n", report::percent_text(quality.coco.ap),
                  report::percent_text(quality.coco.ap_50), report::percent_text(quality.coco.ap_75));
  text += fmt::format("of small, medium, large   {}, {}, {}\n", report::percent_text(quality.coco.ap_small),
                      report::percent_text(quality.coco.ap_medium), report::percent_text(quality.coco.ap_large));
  text += fmt::format("recall, 1, 10, 100 boxes  {}, {}, {}\n", report::percent_text(quality.coco.ar_1),
                      report::percent_text(quality.coco.ar_10), report::percent_text(quality.coco.ar_100));
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const task::ClassPrecision& of_class = quality.classes[c];
    if (of_class.true_boxes == 0) continue;
    const std::string name = one_line(classes[c]);
    text += fmt::format(
        "  {}{}{}@0.5, {}@0.5:0.95 ({})\n", name,
        std::string(std::max<std::size_t>(26, report::display_width(name) + 3) - 2 - report::display_width(name), ' '),
        report::percent_text(of_class.voc_2010), report::percent_text(of_class.coco),
        of_class.true_boxes == 1 ? "1 box" : fmt::format("{} boxes", of_class.true_boxes));
  }
  return text;
}

void write_metrics(const std::filesystem::path& path, const task::DetectionQuality& quality,
                   const std::vector<std::string>& classes) {
  std::string text = "class,metric,value\n";
  const auto add = [&](const std::string& name, const char* metric, const std::string& value) {
    text += fmt::format("{},{},{}\n", report::csv_cell(to_utf8_text(name)), metric, value);
  };
  add("all", "images", std::to_string(quality.images));
  add("all", "true_boxes", std::to_string(quality.true_boxes));
  add("all", "found_boxes", std::to_string(quality.found_boxes));
  add("all", "map_50", value_text(quality.voc_2010));
  add("all", "map_50_voc_2007", value_text(quality.voc_2007));
  for (const Line& line : coco_lines(quality.coco)) add("all", line.name, value_text(line.value));
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const task::ClassPrecision& of_class = quality.classes[c];
    add(classes[c], "true_boxes", std::to_string(of_class.true_boxes));
    add(classes[c], "found_boxes", std::to_string(of_class.found_boxes));
    add(classes[c], "ap_50", value_text(of_class.voc_2010));
    add(classes[c], "ap_50_voc_2007", value_text(of_class.voc_2007));
    add(classes[c], "coco_ap", value_text(of_class.coco));
    add(classes[c], "coco_ap_50", value_text(of_class.coco_50));
  }
  write_file_atomically(path, text);
}

void write_box_confusion(const std::filesystem::path& path, const task::BoxConfusion& confusion,
                         const std::vector<std::string>& classes) {
  const auto name = [&](std::size_t c) {
    return report::csv_cell(c < classes.size() ? to_utf8_text(classes[c]) : "(background)");
  };
  std::string text = "true_class,found_class,boxes\n";
  const auto& counts = confusion.counts();
  for (std::size_t row = 0; row < counts.size(); ++row) {
    for (std::size_t column = 0; column < counts.size(); ++column) {
      if (counts[row][column] > 0) text += fmt::format("{},{},{}\n", name(row), name(column), counts[row][column]);
    }
  }
  write_file_atomically(path, text);
}

record::DetectionFigures detection_figures(const BoxSink& writer, const task::DetectionQuality& quality,
                                           const std::vector<std::string>& classes) {
  record::DetectionFigures figures;
  figures.confidence = double{writer.mistake_confidence()};
  figures.confusion = writer.confusion().counts();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const task::ClassPrecision& of_class = quality.classes[c];
    task::PrecisionCurve curve = task::precision_curve(writer.tally(), static_cast<std::int32_t>(c));
    for (std::vector<double>* values : {&curve.recall, &curve.precision, &curve.score}) thin(*values);
    figures.classes.push_back({classes[c], of_class.true_boxes, of_class.voc_2007, of_class.voc_2010, of_class.coco,
                               std::move(curve.recall), std::move(curve.precision), std::move(curve.score)});
  }
  return figures;
}

}  // namespace evener::job
