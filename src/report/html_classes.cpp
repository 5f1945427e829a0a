// The page's part on classes: how well each was recognised, and what it was taken for.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "record/share_interval.h"
#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

using record::ConfusionRecord;

/// Wider tables can't be read; then only the most frequent mistake of each class is told.
constexpr std::size_t kWidestMatrix = 20;

std::string class_name(const record::Record& record, std::size_t index) {
  return index < record.data.classes.size() ? record.data.classes[index] : fmt::format("class {}", index);
}

std::int64_t total_of(const std::vector<std::int64_t>& row) {
  return std::accumulate(row.begin(), row.end(), std::int64_t{0});
}

/// A bar of the class's accuracy in its cell.
std::string accuracy_cell(const std::vector<std::int64_t>& row, std::size_t index) {
  const std::int64_t total = total_of(row);
  if (total == 0) return "<td class=\"number\">–</td>";
  const double share = static_cast<double>(row[index]) / static_cast<double>(total);
  const record::Interval interval = record::share_interval(share, total);
  return fmt::format(
      "<td class=\"number bar\" style=\"--share:{:.4f}\">{}<br><small title=\"95 % interval\">{:.0f} to "
      "{:.0f}</small></td>",
      share, percent_text(share), 100 * interval.low, 100 * interval.high);
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

std::string class_list(const record::Record& record) {
  std::string html =
      "<table><thead><tr><th>class</th><th class=\"number\">images</th><th class=\"number\">accuracy</th>"
      "<th>mostly mistaken for</th></tr></thead><tbody>";
  const auto& counts = record.confusion.counts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    html +=
        fmt::format("<tr><th>{}</th><td class=\"number\">{}</td>{}<td>{}</td></tr>", escape_html(class_name(record, i)),
                    total_of(counts[i]), accuracy_cell(counts[i], i), worst_mistake(record, i));
  }
  return html + "</tbody></table>";
}

std::string matrix(const record::Record& record) {
  const auto& counts = record.confusion.counts;
  std::string html = "<table class=\"confusion\"><thead><tr><th>is \\ taken for</th>";
  for (std::size_t i = 0; i < counts.size(); ++i) html += "<th>" + escape_html(class_name(record, i)) + "</th>";
  html += "</tr></thead><tbody>";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    html += "<tr><th>" + escape_html(class_name(record, i)) + "</th>";
    const auto total = static_cast<double>(std::max<std::int64_t>(1, total_of(counts[i])));
    for (std::size_t j = 0; j < counts.size(); ++j) {
      html +=
          fmt::format("<td class=\"{}\" style=\"--share:{:.4f}\">{}</td>", i == j ? "right" : "wrong",
                      static_cast<double>(counts[i][j]) / total, counts[i][j] == 0 ? "" : std::to_string(counts[i][j]));
    }
    html += "</tr>";
  }
  return html + "</tbody></table>";
}

}  // namespace

std::string classes_part(std::span<const Run> runs) {
  std::string html;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const record::Record& record = runs[n].record;
    const ConfusionRecord& confusion = record.confusion;
    if (confusion.counts.empty()) continue;
    html += fmt::format(
        "<details class=\"card\"{}><summary><span class=\"swatch\" style=\"--run:{}\"></span>Classes of {} ({} "
        "images)</summary><div class=\"scroll\">{}</div>",
        html.empty() ? " open" : "", run_color(n), escape_html(runs[n].name), escape_html(confusion.part),
        class_list(record));
    if (confusion.counts.size() <= kWidestMatrix) html += "<div class=\"scroll\">" + matrix(record) + "</div>";
    html += "</details>";
  }
  return html.empty() ? "" : "<section><h2>Classes</h2>" + html + "</section>";
}

}  // namespace evener::report
