// The page's main part: the runs of each job side by side.
#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"
#include "report/ways.h"

namespace evener::report {
namespace {

using record::Metric;
using record::Record;
using Job = std::vector<std::size_t>;

/// A job with more runs is shown as a table instead of cards.
constexpr std::size_t kMostCards = 6;

std::string badge(const Record& record) {
  const std::string text = validity_text(record);
  if (text == "-") return "";
  const char* const kind = text == "VALID" ? "valid" : is_told_in_passing(record) ? "in-passing" : "invalid";
  return fmt::format("<span class=\"badge {}\">{}</span>", kind, text);
}

std::string definition(const std::string& term, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape_html(term), escape_html(value));
}

/// The main speed in large letters, with its spread.
std::string speed_html(const Metric& speed) {
  std::string number = speed.value ? number_text(*speed.value) : "–", unit = speed.unit;
  if (speed.value && unit == "s") {  // "17.9 ms" is read more easily than "0.0179 s"
    const std::string text = duration_text(*speed.value);
    number = text.substr(0, text.find(' '));
    unit = text.substr(number.size());
  }
  std::string html = fmt::format("<p class=\"big\">{} <small>{}</small></p>", number, escape_html(unit));
  std::string spread = speed.value ? speed.over : "not measured: see the notes";
  if (const auto range = record::range(speed.samples); speed.value && range) {
    const record::Interval ends = speed.interval.value_or(*range);
    spread = record::median_text(speed.samples.size(), speed.over);
    if (speed.samples.size() > 1) {
      spread = fmt::format("{} {} to {}; {}", speed.interval ? "95 % interval" : "range", number_text(ends.low),
                           number_text(ends.high), spread);
    }
  }
  return html + "<div class=\"interval\">" + escape_html(spread) + "</div>";
}

/// Whether any run of the job has a value of that figure.
bool is_known(std::span<const Run> runs, const Job& job, const std::string& name) {
  return std::ranges::any_of(job, [&](std::size_t n) { return has_value(record::metrics_of(runs[n].record), name); });
}

std::string card(std::span<const Run> runs, const Job& job, std::size_t n, const std::string& label) {
  const Run& run = runs[n];
  const Record& record = run.record;
  std::string html = fmt::format("<article class=\"card run\" style=\"--run:{}\"><div class=\"name\">{} {}</div>",
                                 run_color(n), escape_html(label), badge(record));
  std::string way = run.name + ": " + record.precision;
  if (record.batch) way += fmt::format(", batch {}", *record.batch);
  html += "<div class=\"way\">" + escape_html(way) + "</div>";
  const std::vector<Metric> metrics = record::metrics_of(record);
  const Metric* main = record::main_speed(metrics);
  if (main != nullptr) html += speed_html(*main);
  html += "<dl>";
  const Record& base = base_of(runs, run);
  if (job.size() > 1) {
    const auto speed = speed_against(record, base);
    html += definition("speed", &base == &record ? "1×, the base"
                                : speed          ? number_text(*speed) + "× of " + base.placement.text
                                                 : "–");
  }
  for (const Metric& metric : metrics) {
    if (&metric == main || metric.title.empty() || !is_known(runs, job, metric.name)) continue;
    html += definition(metric.label, figure_text(metric, "–"));
  }
  html += "</dl>";
  for (const auto& reason : record.validity.reasons) {
    html += fmt::format("<div class=\"why{}\">{}</div>", is_told_in_passing(record) ? " in-passing" : "",
                        escape_html(reason.what));
  }
  return html + "</article>";
}

/// Leaves out columns in which all runs are alike or none has a value.
bool tells_nothing(const Table& table, std::size_t column) {
  const std::string& title = table.columns[column].title;
  const auto cell = [&](const std::vector<std::string>& row) { return row[column]; };
  if (title == "run" || title == "placement" || title == "valid") return false;
  const std::string first = cell(table.rows.front());
  const bool same = std::ranges::all_of(table.rows, [&](const auto& row) { return cell(row) == first; });
  return same && (!table.columns[column].numeric || title == "batch" || first == "-" || first == "absent");
}

std::string figures_table(std::span<const Run> runs, const Job& job) {
  std::vector<Run> of_job;
  for (const std::size_t n : job) {
    of_job.emplace_back();
    of_job.back().name = runs[n].name;
    of_job.back().record = runs[n].record;
  }
  const Table table = summary_table(of_job);
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (!tells_nothing(table, column)) columns.push_back(column);
  }
  HtmlTable shown;
  for (const std::size_t column : columns)
    shown.columns.push_back({table.columns[column].title, table.columns[column].numeric});
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    HtmlRow& cells = shown.rows.emplace_back();
    for (const std::size_t column : columns) {
      const std::string mark = badge(runs[job[row]].record);
      const bool is_validity = table.columns[column].title == "valid" && !mark.empty();
      cells.cells.push_back(
          {(column == 0 ? swatch(job[row]) : "") + (is_validity ? mark : escape_html(table.rows[row][column]))});
    }
  }
  return shown.scrolled("card");
}

}  // namespace

std::string jobs_part(std::span<const Run> runs) {
  const std::vector<Job> jobs = jobs_of(runs);
  const std::vector<std::string> labels = labels_of(runs);
  std::string html;
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    const Job& job = jobs[number];
    html += "<section>";
    if (jobs.size() > 1) html += "<h2>" + escape_html(job_text(runs[job.front()].record)) + "</h2>";
    if (job.size() <= kMostCards) {
      html += runs.size() == 1 ? "<div class=\"runs single\">" : "<div class=\"runs\">";
      for (const std::size_t n : job) html += card(runs, job, n, labels[n]);
      html += "</div>";
    } else {
      html += figures_table(runs, job);
    }
    html += plots_of_job(runs, job, number) + "</section>";
  }
  return html;
}

}  // namespace evener::report
