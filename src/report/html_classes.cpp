// The page's parts on a classifier: the accuracy of each class, the confusion matrix, and some images with predictions.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "record/share_interval.h"
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
      "<figure class=\"prediction{}\" title=\"{}\"><img src=\"data:image/png;base64,{}\" alt=\"{}\">{}"
      "<figcaption>{}</figcaption></figure>",
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
  return html.empty() ? "" : "<section><h2>Classes</h2>" + html + "</section>";
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

}  // namespace evener::report
