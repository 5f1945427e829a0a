#include "report/html_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/names.h"
#include "report/conclusion.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/notes.h"
#include "report/table.h"

namespace evener::report {
namespace {

using measure::Metric;
using measure::Record;

constexpr std::size_t kMostCards = 6;

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

/// Numbers stay on one line with their units.
std::string keep_units(std::string text) {
  for (const std::string_view unit : {" %", " images/s"}) {
    for (std::size_t at = text.find(unit); at != std::string::npos; at = text.find(unit, at + 2))
      text.replace(at, 1, "\u00a0");
  }
  return text;
}

void add_chip(std::string& chips, const std::string& text) {
  if (!text.empty()) chips += "<li>" + escape_html(text) + "</li>";
}

std::string version_text(const Record& record, const char* name) {
  const auto version = record.versions.find(name);
  if (version == record.versions.end()) return "";
  const bool named = version->second.find_first_not_of("0123456789.") == 0;  // "LibTorch 2.11.0"
  return named ? version->second : std::string(name) + " " + version->second;
}

std::string badge(const Record& record) {
  const std::string text = validity_text(record);
  if (text == "-") return "";
  return fmt::format("<span class=\"badge {}\">{}</span>", text == "VALID" ? "valid" : "invalid", text);
}

std::string definition(const std::string& term, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape_html(term), escape_html(value));
}

/// The figure that runs are compared by, in large letters, with what is known of its spread.
std::string speed_html(const Metric& speed) {
  std::string html = fmt::format("<p class=\"big\">{} <small>{}</small></p>",
                                 speed.value ? number_text(*speed.value) : "–", escape_html(speed.unit));
  std::string spread = speed.value ? speed.over : "not measured: see the notes";
  if (speed.interval) {
    spread = fmt::format("95 % interval {} to {}; {}", number_text(speed.interval->low),
                         number_text(speed.interval->high), speed.over);
  }
  return html + "<div class=\"interval\">" + escape_html(spread) + "</div>";
}

std::string card(std::span<const Run> runs, std::size_t n) {
  const Run& run = runs[n];
  const Record& record = run.record;
  std::string html = fmt::format("<article class=\"card run\" style=\"--run:{}\"><div class=\"name\">{} {}</div>",
                                 run_color(n), escape_html(run.name), badge(record));
  std::string way = fmt::format("{} on {}, {}", record.model.name, record.placement.text, record.precision);
  if (record.batch) way += fmt::format(", batch {}", *record.batch);
  html += "<div class=\"way\">" + escape_html(way) + "</div>";
  const std::vector<Metric> metrics = measure::metrics_of(record);
  const Metric* main = measure::main_speed(metrics);
  if (main != nullptr) html += speed_html(*main);
  for (const auto& reason : record.validity.reasons)
    html += "<div class=\"why\">" + escape_html(reason.what) + "</div>";
  html += "<dl>";
  const Record& base = base_of(runs, run);
  if (const auto speed = speed_against(record, base); speed && &base != &record) {
    html += definition("speed", number_text(*speed) + "× of " + base.placement.text);
  }
  for (const Metric& metric : metrics) {
    if (&metric != main && !metric.title.empty()) html += definition(metric.label, figure_text(metric, "–"));
  }
  return html + "</dl></article>";
}

std::string summary_html(std::span<const Run> runs) {
  const Table table = summary_table(runs);
  std::string html = "<div class=\"card scroll wide\"><table><thead><tr>";
  for (const Column& column : table.columns) {
    html += fmt::format("<th{}>{}</th>", column.numeric ? " class=\"number\"" : "", escape_html(column.title));
  }
  html += "</tr></thead><tbody>";
  for (std::size_t n = 0; n < table.rows.size(); ++n) {
    html += fmt::format("<tr style=\"--run:{}\">", run_color(n));
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const bool is_validity = column + 1 == table.columns.size() && !badge(runs[n].record).empty();
      html += fmt::format("<td{}>{}{}</td>", table.columns[column].numeric ? " class=\"number\"" : "",
                          column == 0 ? "<span class=\"swatch\"></span>" : "",
                          is_validity ? badge(runs[n].record) : escape_html(table.rows[n][column]));
    }
    html += "</tr>";
  }
  return html + "</tbody></table></div>";
}

std::string plot_card(const std::string& id, const std::string& title, const char* explanation,
                      const std::string& control = "") {
  return fmt::format(
      "<div class=\"card\"><div class=\"plot-head\"><h3>{}</h3>{}</div><p class=\"explain\">{}</p>"
      "<div class=\"plot\" id=\"plot-{}\"></div></div>",
      escape_html(title), control, explanation, id);
}

/// What the runs of a job call the speed that they are compared by: "Training speed"; "" where none has measured it.
std::string speed_label(std::span<const Run> runs, const std::vector<std::size_t>& job) {
  for (const std::size_t n : job) {
    const std::vector<Metric> metrics = measure::metrics_of(runs[n].record);
    const Metric* speed = measure::main_speed(metrics);
    if (speed == nullptr || !speed->value || speed->label.empty()) continue;
    std::string label = speed->label;
    label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(label[0])));
    return label;
  }
  return "";
}

/// The plots of the runs of one job; only those that have data.
std::string job_plots(std::span<const Run> runs, const std::vector<std::size_t>& job, std::size_t number) {
  const auto any = [&](auto has) {
    return std::any_of(job.begin(), job.end(), [&](std::size_t n) { return has(runs[n]); });
  };
  const auto id = [&](const char* name) { return fmt::format("{}-{}", name, number); };
  std::string html = "<div class=\"grid\">";
  if (const std::string label = speed_label(runs, job); !label.empty()) {
    html += plot_card(id("speed"), label, "Each dot is a sample; the line is the median, with its 95 % interval.");
  }
  if (any([](const Run& run) { return !run.record.phases_s.empty(); })) {
    html +=
        plot_card(id("phases"), "Time per phase",
                  "Thick: the run's own thread, adding up to the run. Thin, hatched: other threads, behind it.",
                  fmt::format("<span class=\"switch\" data-job=\"{}\"><button type=\"button\" value=\"seconds\">seconds"
                              "</button><button type=\"button\" value=\"share\">share</button></span>",
                              number));
  }
  if (any([](const Run& run) { return !run.record.training.epochs.empty(); })) {
    html += plot_card(id("accuracy"), "Accuracy",
                      "Solid: validation, its best epoch circled. Dotted: training, as the weights changed.");
    html += plot_card(id("loss"), "Loss", "Solid: validation, circled where overfitting begins. Dotted: training.");
  }
  if (any([](const Run& run) { return !run.samples.time_s.empty(); })) {
    html += plot_card(id("cpu"), "CPU use", "Solid: this program (100 % is one logical CPU). Dotted: everything else.");
    html += plot_card(id("memory"), "Memory", "Solid: resident (RSS). Dotted: shared pages divided among users (PSS).");
  }
  return html + "</div>";
}

std::string machine_rows(const measure::MachineRecord& machine) {
  std::string cpus =
      fmt::format("{} cores, {} logical CPUs usable of {}", machine.cores, machine.logical_cpus, machine.online_cpus);
  if (machine.quota_cpus) cpus += fmt::format(", limited to {:g} CPUs", *machine.quota_cpus);
  std::string features;
  for (const std::string& feature : machine.cpu_features) features += (features.empty() ? "" : " ") + feature;
  const auto row = [](const char* name, const std::string& value) {
    return fmt::format("<tr><th>{}</th><td>{}</td></tr>", name, value.empty() ? "–" : escape_html(value));
  };
  return row("processor", machine.cpu) + row("CPUs", cpus) + row("instruction sets", features) +
         row("memory", bytes_text(machine.memory_bytes)) + row("system", machine.os + ", " + machine.kernel) +
         row("virtualization", machine.virtualization.value_or("none seen")) +
         row("frequency governor", machine.governor.value_or("unknown")) +
         row("load at the start", machine.load_1min ? fmt::format("{:.2f} (1 min average)", *machine.load_1min) : "");
}

/// A word of a command line as a shell would take it.
std::string quoted_for_shell(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789_-+=./:,@%") == std::string::npos;
  if (plain) return word;
  std::string inner;
  for (const char c : word) inner += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return fmt::format("'{}'", inner);
}

/// Each word stays on one line where it fits: a browser would break after the dashes of an option.
std::string command_html(const std::vector<std::string>& command) {
  std::string html;
  for (const std::string& word : command) {
    html += fmt::format("{}<span>{}</span>", html.empty() ? "" : " ", escape_html(quoted_for_shell(word)));
  }
  return html.empty() ? "not recorded" : html;
}

}  // namespace

std::string header_part(std::span<const Run> runs) {
  const Record& first = runs.front().record;
  std::string lead;
  for (const std::string& sentence : conclusion(runs)) {
    lead += "<p class=\"lead\">" + escape_html(keep_units(sentence)) + "</p>";
  }
  std::string chips;
  add_chip(chips, common(runs, [](const Record& record) { return record.machine.cpu; }));
  add_chip(chips, common(runs, [](const Record& record) { return fmt::format("{} cores", record.machine.cores); }));
  add_chip(chips,
           common(runs, [](const Record& record) { return bytes_text(record.machine.memory_bytes) + " memory"; }));
  add_chip(chips, common(runs, [](const Record& record) { return record.machine.os; }));
  for (const char* name : {"evener", "torch", "openvino"}) {
    add_chip(chips, common(runs, [&](const Record& record) { return version_text(record, name); }));
  }
  add_chip(chips, first.started.empty() ? "" : "started " + first.started);
  return fmt::format(
      "<header><p class=\"brand\"><b>evener</b> report</p><h1>{}</h1>{}<ul "
      "class=\"chips\">{}</ul>"
      "</header>",
      escape_html(title_of(runs)), lead, chips);
}

std::string results_part(std::span<const Run> runs) {
  std::string html = "<section>";
  if (runs.size() <= kMostCards) {
    html += runs.size() == 1 ? "<div class=\"runs single\">" : "<div class=\"runs\">";
    for (std::size_t n = 0; n < runs.size(); ++n) html += card(runs, n);
    html += "</div>";
  } else {
    html += "<h2>Results</h2>";
  }
  if (runs.size() > 1) html += summary_html(runs);
  return html + "</section>";
}

std::string plots_part(std::span<const Run> runs) {
  const auto jobs = jobs_of(runs);
  std::string html = "<section class=\"needs-plots\">";
  for (std::size_t n = 0; n < jobs.size(); ++n) {
    const std::string title = jobs.size() == 1 ? "How it went" : job_text(runs[jobs[n].front()].record);
    html += "<h2>" + escape_html(title) + "</h2>" + job_plots(runs, jobs[n], n);
  }
  return html + "</section>";
}

std::string setting_part(std::span<const Run> runs) {
  std::string html = "<section><h2>What was run</h2><div class=\"grid\"><div class=\"card\"><h3>Commands</h3>";
  for (std::size_t n = 0; n < runs.size(); ++n) {
    html += fmt::format("<p style=\"--run:{};margin:10px 0 0\"><span class=\"swatch\"></span>{}</p><pre>{}</pre>",
                        run_color(n), escape_html(runs[n].name), command_html(runs[n].record.command));
  }
  html += "</div>";
  std::vector<std::string> shown;
  for (const Run& run : runs) {
    // Load at the start differs from run to run on one machine, so it doesn't tell machines apart.
    measure::MachineRecord machine = run.record.machine;
    machine.load_1min.reset();
    std::string versions;
    for (const auto& [name, version] : run.record.versions) {
      versions += fmt::format("<tr><th>{}</th><td>{}</td></tr>", escape_html(name), escape_html(version));
    }
    const std::string key = machine_rows(machine) + versions;
    if (std::find(shown.begin(), shown.end(), key) != shown.end()) continue;
    shown.push_back(key);
    html += fmt::format("<div class=\"card\"><h3>Machine{}</h3><table><tbody>{}{}</tbody></table></div>",
                        shown.size() == 1 ? "" : " of " + escape_html(run.name), machine_rows(run.record.machine),
                        versions);
  }
  return html + "</div></section>";
}

std::string notes_part(std::span<const Run> runs) {
  const std::vector<std::string> notes = notes_of(runs);
  if (notes.empty()) return "";
  std::string html = "<section><h2>Notes</h2><div class=\"card\"><ul class=\"notes\">";
  for (const std::string& note : notes) html += "<li>" + escape_html(note) + "</li>";
  return html + "</ul></div></section>";
}

}  // namespace evener::report
