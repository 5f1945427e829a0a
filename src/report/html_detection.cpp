// The page's part on a detector: the average precision of each class, the confusion matrix, the worst misses.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"

namespace evener::report {
namespace {

/// The most classes of a readable matrix.
constexpr std::size_t kMostClassesShown = 20;

HtmlTable detected_table(const record::DetectionFigures& figures) {
  HtmlTable table{.columns = {{"class"}, {"boxes", true}, {"AP@0.5", true}, {"VOC 2007", true}, {"COCO", true}},
                  .style = "",
                  .has_row_headings = true};
  for (const record::DetectedClass& one : figures.classes) {
    if (one.true_boxes == 0 && figures.classes.size() > kMostClassesShown) continue;
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

std::string mistakes(const record::DetectionFigures& figures, const std::vector<std::size_t>& told) {
  std::vector<std::string> names;
  for (const record::DetectedClass& one : figures.classes) names.push_back(escape_html(one.name));
  names.resize(std::max(names.size(), figures.confusion.size()), "<i>nothing</i>");
  return confusion_html(names, figures.confusion, told);
}

std::string miss_figure(const record::MissedImage& miss) {
  const std::string what = miss.missed == 0  ? fmt::format("{} wrong", miss.wrong)
                           : miss.wrong == 0 ? fmt::format("{} missed", miss.missed)
                                             : fmt::format("{} missed, {} wrong", miss.missed, miss.wrong);
  return fmt::format(
      "<figure class=\"miss\" title=\"{0}\"><img src=\"data:image/jpeg;base64,{1}\" alt=\"{0}\">"
      "<figcaption><b>{2}</b><br>{3}</figcaption></figure>",
      escape_html(miss.file), miss.jpeg_base64, what,
      escape_html(std::filesystem::path(miss.file).filename().string()));
}

std::string of_run(const Run& run, std::size_t n, std::size_t number, bool is_first, std::size_t runs) {
  const record::DetectionFigures& figures = *run.detection;
  const std::string whose = runs == 1 ? "" : swatch(n) + escape_html(run.name) + ": ";
  std::string html = "<div class=\"grid\">";
  if (is_first) {
    html +=
        "<div class=\"needs-plots\">" +
        plot_card(fmt::format("precision-{}", number), "Precision and recall",
                  "Of each class, boxes with an intersection over union of at least 0.5: the likeliest at the left.") +
        "</div>";
  }
  html += fmt::format(
      "<div class=\"card\"><h3>{}Classes</h3><p class=\"explain\">Average precision: all points of the curve, the "
      "eleven "
      "of "
      "VOC 2007, and COCO's mean over overlaps from 0.50 to 0.95.</p>{}</div>",
      whose, detected_table(figures).scrolled());
  const std::vector<std::size_t> told = told_classes(figures);
  if (told.size() > 1 && told.size() <= kMostClassesShown + 1) {
    html += fmt::format(
        "<div class=\"card\"><h3>{}What was taken for what</h3><p class=\"explain\">Boxes likelier than {:.2f}. The "
        "last "
        "column was missed, the last row found where nothing is.</p>{}</div>",
        whose, figures.confidence, mistakes(figures, told));
  }
  html += "</div>";
  if (figures.misses.empty()) return html;
  html += fmt::format(
      "<div class=\"card after\"><h3>{}The worst misses</h3><p class=\"explain\">Boxes likelier than {:.2f}: right "
      "ones green, "
      "<span class=\"wrong-box\">wrong ones orange</span>, <span class=\"missed-box\">missed ones red and "
      "dashed</span>.</p><div class=\"misses\">",
      whose, figures.confidence);
  for (const record::MissedImage& miss : figures.misses) html += miss_figure(miss);
  return html + "</div></div>";
}

}  // namespace

std::string detection_part(std::span<const Run> runs) {
  const auto jobs = jobs_of(runs);
  std::string html;
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    std::vector<std::size_t> detected;
    std::ranges::copy_if(jobs[number], std::back_inserter(detected),
                         [&](std::size_t n) { return runs[n].detection.has_value(); });
    if (detected.empty()) continue;
    const record::Record& record = runs[detected.front()].record;
    html +=
        fmt::format("<h2>What {} finds on {}</h2>", escape_html(record.model.name), escape_html(record.data.location));
    for (const std::size_t n : detected) {
      html += of_run(runs[n], n, number, n == detected.front(), detected.size());
    }
  }
  return html.empty() ? "" : "<section>" + html + "</section>";
}

}  // namespace evener::report
