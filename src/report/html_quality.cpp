// The page's part on classes: how often each was recognised, and what was taken for what.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "record/statistics.h"
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

}  // namespace evener::report
