#include "detect/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "record/detection.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"

namespace evener::detection {
namespace {

using report::escape_html;
using report::HtmlTable;
using report::share_cell;

constexpr std::string_view kMissesStyle = R"css(
.misses { display: grid; gap: 14px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 280px), 1fr)); }
.miss { margin: 0; font-size: .8rem; line-height: 1.3; overflow-wrap: anywhere; }
.miss img { width: 100%; border-radius: 8px; display: block; margin-bottom: 4px; }
.wrong-box { color: #b36200; }
.missed-box { color: #d50000; }
)css";
constexpr std::string_view kCurves =
#include "detect/page/detection.js.inc"
    ;

/// The most classes of a readable matrix.
constexpr std::size_t kWidestConfusion = 20;

HtmlTable detected_table(const record::DetectionFigures& figures) {
  HtmlTable table{.columns = {{"class"}, {"boxes", true}, {"AP@0.5", true}, {"VOC 2007", true}, {"COCO", true}},
                  .style = "",
                  .has_row_headings = true};
  for (const record::DetectedClass& one : figures.classes) {
    if (one.true_boxes == 0 && figures.classes.size() > kWidestConfusion) continue;
    table.rows.push_back({{{escape_html(one.name)},
                           {std::to_string(one.true_boxes)},
                           share_cell(one.voc_2010),
                           share_cell(one.voc_2007),
                           share_cell(one.coco)}});
  }
  return table;
}

/// The classes with true or found boxes, and the background: the rows and columns that aren't all zero.
std::vector<std::size_t> told_classes(const record::DetectionFigures& figures) {
  const auto& counts = figures.confusion;
  std::vector<std::size_t> told;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const bool is_there = std::ranges::any_of(counts[c], [](std::int64_t count) { return count > 0; });
    const bool is_found = std::ranges::any_of(counts, [&](const auto& row) { return row[c] > 0; });
    if (is_there || is_found || c + 1 == counts.size()) told.push_back(c);
  }
  return told;
}

std::string confusion_of(const record::DetectionFigures& figures, const std::vector<std::size_t>& told) {
  std::vector<std::string> names;
  for (const record::DetectedClass& one : figures.classes) names.push_back(escape_html(one.name));
  names.resize(std::max(names.size(), figures.confusion.size()), "<i>nothing</i>");
  return report::confusion_html(names, figures.confusion, told);
}

std::string miss_figure(const record::MissedImage& miss) {
  const std::string what = miss.missed == 0  ? fmt::format("{} wrong", miss.wrong)
                           : miss.wrong == 0 ? fmt::format("{} missed", miss.missed)
                                             : fmt::format("{} missed, {} wrong", miss.missed, miss.wrong);
  return fmt::format(
      "<figure class=\"miss\" title=\"{0}\"><img src=\"data:image/jpeg;base64,{1}\" "
      "alt=\"{0}\"><figcaption><b>{2}</b><br>{3}</figcaption></figure>",
      escape_html(miss.file), miss.jpeg_base64, what,
      escape_html(std::filesystem::path(miss.file).filename().string()));
}

/// `whose`: HTML before the headings; `plot`: the place of the curves, "" = they stand elsewhere.
std::string of_run(const record::DetectionFigures& figures, const std::string& whose, const std::string& plot) {
  std::string html = "<div class=\"grid\">" + plot;
  html += fmt::format(
      "<div class=\"card\"><h3>{}Classes</h3><p class=\"explain\">Average precision: all points of the curve, the "
      "eleven of VOC 2007, and COCO's mean over overlaps from 0.50 to 0.95.</p>{}</div>",
      whose, detected_table(figures).scrolled());
  const std::vector<std::size_t> told = told_classes(figures);
  if (told.size() > 1 && told.size() <= kWidestConfusion + 1) {
    html += fmt::format(
        "<div class=\"card\"><h3>{}What was taken for what</h3><p class=\"explain\">Boxes likelier than {:.2f}. The "
        "last column was missed, the last row found where nothing is.</p>{}</div>",
        whose, figures.confidence, confusion_of(figures, told));
  }
  html += "</div>";
  if (figures.misses.empty()) return html;
  html += fmt::format(
      "<div class=\"card after\"><h3>{}The worst misses</h3><p class=\"explain\">Boxes likelier than {:.2f}: right "
      "ones green, <span class=\"wrong-box\">wrong ones orange</span>, <span class=\"missed-box\">missed ones red and "
      "dashed</span>.</p><div class=\"misses\">",
      whose, figures.confidence);
  for (const record::MissedImage& miss : figures.misses) html += miss_figure(miss);
  return html + "</div></div>";
}

/// The precision-recall curves of classes with true boxes; of many classes the most frequent ones.
nlohmann::ordered_json curves_of(const record::DetectionFigures& figures) {
  constexpr std::size_t kMostCurves = 20;
  std::vector<const record::DetectedClass*> classes;
  for (const record::DetectedClass& one : figures.classes) {
    if (!one.recall.empty()) classes.push_back(&one);
  }
  if (classes.size() > kMostCurves) {
    std::ranges::stable_sort(classes, std::ranges::greater{}, &record::DetectedClass::true_boxes);
    classes.resize(kMostCurves);
  }
  nlohmann::ordered_json curves = nlohmann::ordered_json::array();
  for (const record::DetectedClass* one : classes) {
    curves.push_back(
        {{"name", one->name}, {"recall", one->recall}, {"precision", one->precision}, {"score", one->score}});
  }
  return curves;
}

}  // namespace

report::PagePart detection_part(std::span<report::Run> runs) {
  std::vector<std::optional<record::DetectionFigures>> figures;
  report::PagePart part{.name = "detection", .style = kMissesStyle, .script = kCurves};
  for (report::Run& run : runs) {
    figures.push_back(report::read_if_there(run, record::kDetection, record::read_detection));
    part.plots.push_back(figures.back() ? curves_of(*figures.back()) : nullptr);
  }
  const auto jobs = report::jobs_of(runs);
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    std::vector<std::size_t> detected = jobs[number];
    std::erase_if(detected, [&](std::size_t n) { return !figures[n]; });
    if (detected.empty()) continue;
    const record::Record& record = runs[detected.front()].record;
    part.html +=
        fmt::format("<h2>What {} finds on {}</h2>", escape_html(record.model.name), escape_html(record.data.location));
    std::string plot =
        "<div class=\"needs-plots\">" +
        report::plot_card(
            fmt::format("precision-{}", number), "Precision and recall",
            "Of each class, boxes with an intersection over union of at least 0.5: the likeliest at the left.") +
        "</div>";
    for (const std::size_t n : detected) {
      const std::string whose = detected.size() == 1 ? "" : report::swatch(n) + escape_html(runs[n].name) + ": ";
      part.html += of_run(*figures[n], whose, plot);
      plot.clear();  // one is for all runs of the job
    }
  }
  if (!part.html.empty()) part.html = "<section>" + part.html + "</section>";
  return part;
}

}  // namespace evener::detection
