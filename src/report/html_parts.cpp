#include "report/html_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "report/conclusion.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html_table.h"

namespace evener::report {
namespace {

using record::Metric;
using record::Record;

/// The value all runs share, or "" if they differ.
template <typename Text>
std::string common(std::span<const Run> runs, Text text) {
  const std::string first = text(runs.front().record);
  const bool same = std::all_of(runs.begin(), runs.end(), [&](const Run& run) { return text(run.record) == first; });
  return same ? first : "";
}

std::string title_of(std::span<const Run> runs) {
  const std::string job = common(runs, job_text);
  if (runs.size() == 1) return job + ", " + runs.front().record.placement.text;
  if (!job.empty()) return fmt::format("{}: {} runs compared", job, runs.size());
  return fmt::format("{} runs compared", runs.size());
}

/// Keeps numbers on one line with their units.
std::string keep_units(std::string text) {
  for (const std::string_view unit : {" %", " images/s"}) {
    for (std::size_t at = text.find(unit); at != std::string::npos; at = text.find(unit, at + 2))
      text.replace(at, 1, "\u00a0");
  }
  return text;
}

std::string version_text(const Record& record, const char* name) {
  const auto version = record.versions.find(name);
  if (version == record.versions.end()) return "";
  const bool named = version->second.find_first_not_of("0123456789.") == 0;  // "LibTorch 2.11.0"
  return named ? version->second : std::string(name) + " " + version->second;
}

Facts machine_facts(const record::MachineRecord& machine) {
  std::string cpus =
      fmt::format("{} cores, {} logical CPUs usable of {}", machine.cores, machine.logical_cpus, machine.online_cpus);
  if (machine.quota_cpus) cpus += fmt::format(", limited to {:g} CPUs", *machine.quota_cpus);
  if (machine.cpu_kinds) cpus += "; " + *machine.cpu_kinds;
  std::string features;
  for (const std::string& feature : machine.cpu_features) features += (features.empty() ? "" : " ") + feature;
  return {{"processor", machine.cpu},
          {"CPUs", cpus},
          {"instruction sets", features},
          {"memory", bytes_text(machine.memory_bytes)},
          {"system", machine.os + ", " + machine.kernel},
          {"virtualization", machine.virtualization.value_or("none seen")},
          {"frequency governor", machine.governor.value_or("unknown")},
          {"load at the start", machine.load_1min ? fmt::format("{:.2f} (1 min average)", *machine.load_1min) : ""}};
}

/// A word of a command line, quoted for a shell.
std::string quoted_for_shell(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%") ==
                                          std::string::npos;
  if (plain) return word;
  std::string inner;
  for (const char c : word) inner += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return fmt::format("'{}'", inner);
}

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

std::string command_html(const std::vector<std::string>& command) {
  std::string html;
  for (const std::string& word : command) {
    html += fmt::format("{}<span>{}</span>", html.empty() ? "" : " ", escape_html(quoted_for_shell(word)));
  }
  return html.empty() ? "not recorded" : html;
}

std::string swatch(std::size_t n) {
  return fmt::format("<span class=\"swatch\" style=\"--run:{}\"></span>", run_color(n));
}

std::string header_part(std::span<const Run> runs) {
  const Record& first = runs.front().record;
  std::string leads;
  for (const std::string& sentence : conclusion(runs)) {
    leads += lead_html(keep_units(sentence),
                       sentence.starts_with("INVALID") || sentence.starts_with("Its times are INVALID"));
  }
  std::vector<std::string> chips = {
      common(runs, [](const Record& record) { return record.machine.cpu; }),
      common(runs, [](const Record& record) { return fmt::format("{} cores", record.machine.cores); }),
      common(runs, [](const Record& record) { return bytes_text(record.machine.memory_bytes) + " memory"; }),
      common(runs, [](const Record& record) { return record.machine.os; })};
  for (const char* name : {"evener", "torch", "openvino"}) {
    chips.push_back(common(runs, [&](const Record& record) { return version_text(record, name); }));
  }
  chips.push_back(first.started.empty() ? "" : "started " + first.started);
  return header_html("report", title_of(runs), leads, chips);
}

std::string setting_part(std::span<const Run> runs) {
  std::string html = "<div class=\"grid\"><div class=\"card\"><h3>Commands</h3>";
  for (std::size_t n = 0; n < runs.size(); ++n) {
    html += fmt::format("<p style=\"margin:10px 0 0\">{}{}</p><pre>{}</pre>", swatch(n), escape_html(runs[n].name),
                        command_html(runs[n].record.command));
  }
  html += "</div>";
  std::vector<Facts> shown;
  for (const Run& run : runs) {
    const record::MachineRecord& machine = run.record.machine;
    Facts facts = machine_facts(machine), told = facts;
    for (const auto& version : run.record.versions) facts.push_back(version), told.push_back(version);
    // The load at the start differs between runs on the same machine, so it is ignored when comparing machines.
    std::erase_if(told, [](const auto& fact) { return fact.first == "load at the start"; });
    if (std::ranges::find(shown, told) != shown.end()) continue;
    shown.push_back(std::move(told));
    html += fmt::format("<div class=\"card\"><h3>Machine{}</h3>{}</div>",
                        shown.size() == 1 ? "" : " of " + escape_html(run.name), facts_html(facts));
  }
  return section_html("What was run", "", html + "</div>");
}

std::string warnings_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    for (const std::string& sentence : run.record.warnings) {
      const std::string of = runs.size() > 1 ? run.name + ": " : "";
      html += "<p class=\"warning\">" + escape_html(of + sentence) + "</p>\n";
    }
  }
  return section_html("Warnings", "", html);
}

std::string notes_part(std::span<const Run> runs) {
  const std::vector<std::string> notes = notes_of(runs);
  return notes.empty() ? "" : section_html("Notes", "", "<div class=\"card\">" + notes_html(notes) + "</div>");
}

std::string latency_part(std::span<const Run> runs) {
  return std::ranges::any_of(runs, has_latency) ? "<section class=\"needs-plots\" id=\"latency\"></section>" : "";
}

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
    html += fmt::format("<div class=\"needs-plots\" id=\"plots-{}\"></div></section>", number);
  }
  return html;
}

}  // namespace evener::report
