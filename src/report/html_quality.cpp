// The page's parts on quality: classes, boxes, and how far a classifier's probabilities hold.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>

#include "record/statistics.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"

namespace evener::report {
namespace {

using record::ConfusionRecord;

/// With more classes the matrix is unreadable; then only the most frequent mistake of each class is shown.
constexpr std::size_t kWidestMatrix = 20;

std::string class_name(const record::Record& record, std::size_t index) {
  return index < record.data.classes.size() ? record.data.classes[index] : fmt::format("class {}", index);
}

std::int64_t total_of(const std::vector<std::int64_t>& row) {
  return std::accumulate(row.begin(), row.end(), std::int64_t{0});
}

/// The accuracy with its 95 % interval.
HtmlCell accuracy_cell(const std::vector<std::int64_t>& row, std::size_t index) {
  const std::int64_t total = total_of(row);
  if (total == 0) return {"–"};
  const double share = static_cast<double>(row[index]) / static_cast<double>(total);
  const record::Interval interval = record::share_interval(share, total);
  return {.html = fmt::format("{}<br><small title=\"95 % interval\">{:.0f} to {:.0f}</small>", percent_text(share),
                              100 * interval.low, 100 * interval.high),
          .share = share};
}

std::string worst_mistake(const record::Record& record, std::size_t index) {
  std::vector<std::int64_t> row = record.confusion.counts[index];
  row[index] = 0;
  const auto most = std::max_element(row.begin(), row.end());
  if (*most == 0) return "never";
  const auto taken_for = static_cast<std::size_t>(most - row.begin());
  return fmt::format("{} ({} of {})", escape_html(class_name(record, taken_for)), *most,
                     total_of(record.confusion.counts[index]));
}

HtmlTable class_table(const record::Record& record) {
  HtmlTable table{.columns = {{"class"}, {"images", true}, {"accuracy", true}, {"mostly mistaken for"}},
                  .style = "",
                  .has_row_headings = true};
  const auto& counts = record.confusion.counts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    table.rows.push_back({{{escape_html(class_name(record, i))},
                           {std::to_string(total_of(counts[i]))},
                           accuracy_cell(counts[i], i),
                           {worst_mistake(record, i)}}});
  }
  return table;
}

std::string matrix(const record::Record& record) {
  std::vector<std::string> names;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < record.confusion.counts.size(); ++i) {
    names.push_back(escape_html(class_name(record, i)));
    all.push_back(i);
  }
  return confusion_html(names, record.confusion.counts, all);
}

constexpr const char* kMapsExplained =
    "<p>Below each picture, in orange, is what spoke for the class that was found: the network's last map of the "
    "picture, weighted as for that class (a class activation map, coarse by nature).</p>";

std::string figure_of(const record::PredictedImage& prediction) {
  const bool is_wrong = !prediction.truth.empty() && prediction.truth != prediction.found;
  const std::string score = prediction.is_probability ? fmt::format("{:.0f} %", 100 * prediction.score)
                                                      : fmt::format("{:.4g}", prediction.score);
  std::string caption = fmt::format("<b>{}</b> {}", escape_html(prediction.found), score);
  if (prediction.is_unknown) caption = "<b>unknown</b>, nearest " + caption;
  if (is_wrong) caption += "<br>is " + escape_html(prediction.truth);
  std::string map;
  if (!prediction.map_base64.empty()) {
    map = fmt::format("<img src=\"data:image/png;base64,{}\" alt=\"where it looked\">", prediction.map_base64);
  }
  return fmt::format(
      "<figure class=\"prediction{}\" title=\"{}\"><img src=\"data:image/png;base64,{}\" "
      "alt=\"{}\">{}<figcaption>{}</figcaption></figure>",
      is_wrong ? " wrong" : "", escape_html(prediction.file), prediction.png_base64, escape_html(prediction.file), map,
      caption);
}

enum class Sort { kOneInSoMany, kSureMistake, kSureRight };

Sort sort_of(const record::PredictedImage& prediction) {
  if (prediction.is_sure_mistake) return Sort::kSureMistake;
  return prediction.is_sure_right ? Sort::kSureRight : Sort::kOneInSoMany;
}

/// The predictions of one sort, under a heading; "" without any.
std::string gallery(const std::string& heading, const std::string& explanation, const Run& run, Sort sort) {
  std::string figures;
  bool has_maps = false;
  for (const record::PredictedImage& prediction : run.predictions) {
    if (sort_of(prediction) != sort) continue;
    figures += figure_of(prediction);
    has_maps = has_maps || !prediction.map_base64.empty();
  }
  if (figures.empty()) return "";
  return "<h2>" + heading + "</h2>" + explanation + (has_maps ? kMapsExplained : "") +
         "<div class=\"card predictions\">" + figures + "</div>";
}

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
      "<figure class=\"miss\" title=\"{0}\"><img src=\"data:image/jpeg;base64,{1}\" "
      "alt=\"{0}\"><figcaption><b>{2}</b><br>{3}</figcaption></figure>",
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
      "eleven of VOC 2007, and COCO's mean over overlaps from 0.50 to 0.95.</p>{}</div>",
      whose, detected_table(figures).scrolled());
  const std::vector<std::size_t> told = told_classes(figures);
  if (told.size() > 1 && told.size() <= kMostClassesShown + 1) {
    html += fmt::format(
        "<div class=\"card\"><h3>{}What was taken for what</h3><p class=\"explain\">Boxes likelier than {:.2f}. The "
        "last column was missed, the last row found where nothing is.</p>{}</div>",
        whose, figures.confidence, mistakes(figures, told));
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

/// The error in words, with the place of its reliability diagram, which page/plots.js.inc draws.
std::string diagram(const std::string& title, const record::CalibrationError& error, const std::string& id) {
  const std::string by_chance =
      error.ece_by_chance ? fmt::format(" (a perfect one: up to {:.1f})", 100 * *error.ece_by_chance) : "";
  return fmt::format(
      "<div class=\"card\"><h3>{}: expected calibration error {}{}</h3><div class=\"needs-plots\"><div class=\"plot\" "
      "id=\"plot-{}\" role=\"img\" aria-label=\"Reliability diagram\"></div></div></div>",
      title, percent_text(error.ece), by_chance, id);
}

}  // namespace

std::string classes_part(std::span<const Run> runs) {
  std::string html;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const record::Record& record = runs[n].record;
    const ConfusionRecord& confusion = record.confusion;
    if (confusion.counts.empty()) continue;
    html += fmt::format("<details class=\"card\"{}><summary>{}Classes of {} ({} images)</summary>{}{}</details>",
                        html.empty() ? " open" : "", swatch(n), escape_html(runs[n].name), escape_html(confusion.part),
                        class_table(record).scrolled(), confusion.counts.size() <= kWidestMatrix ? matrix(record) : "");
  }
  return section_html("Classes", "", html);
}

std::string predictions_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    const std::string name = escape_html(run.record.model.name);
    html += gallery("The surest mistakes of " + name,
                    "<p>What it was wrong about, the surest predictions first. Some may be labelled wrongly.</p>", run,
                    Sort::kSureMistake);
    html += gallery("What " + name + " was right about, and surest of", "", run, Sort::kSureRight);
    html += gallery("What " + name + " says of " + escape_html(run.record.data.location), "", run, Sort::kOneInSoMany);
  }
  return html.empty() ? "" : "<section>" + html + "</section>";
}

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

std::string calibration_part(std::span<const Run> runs) {
  std::string html;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    if (!runs[n].calibration) continue;
    const record::CalibrationRecord& found = *runs[n].calibration;
    html += fmt::format("<h3>{}{}</h3>", runs.size() > 1 ? swatch(n) : "", escape_html(runs[n].name));
    for (const std::string& sentence : record::calibration_sentences(found)) {
      html += "<p class=\"explain\">" + escape_html(sentence) + "</p>";
    }
    html += "<div class=\"grid\">" + diagram("As learnt", found.before, fmt::format("before-{}", n)) +
            diagram("Calibrated", found.after, fmt::format("after-{}", n)) + "</div>";
  }
  return section_html(
      "How far its probabilities hold",
      "Of the answers that are 80 % sure, 80 % should be right: bars that end at the diagonal. Strong bars stand for "
      "many images. The error is the mean distance from the diagonal over the images, in 15 bins. Upright lines: where "
      "95 % of perfectly calibrated networks have all of their bars end, of so many images.",
      html);
}

}  // namespace evener::report
