// Placeholders for a job's plots and for those of latency; page/plots.js.inc and page/latency.js.inc draw into them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/names.h"
#include "report/curves.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/latencies.h"
#include "report/ways.h"

namespace evener::report {
namespace {

using Job = std::vector<std::size_t>;

/// A plot with fewer points would show less than the figures beside it.
constexpr std::size_t kFewestEpochs = 3, kFewestSamples = 8;

/// The title of the main speed of a job's runs: "Training speed"; "" if no run has it.
std::string speed_label(std::span<const Run> runs, const Job& job) {
  for (const std::size_t n : job) {
    const std::vector<record::Metric> metrics = record::metrics_of(runs[n].record);
    const record::Metric* speed = record::main_speed(metrics);
    if (speed == nullptr || !speed->value || speed->label.empty()) continue;
    std::string label = speed->label;
    label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(label[0])));
    return label;
  }
  return "";
}

/// "The curves of cpu/t1 and cpu/t2 lie on each other and are drawn as one."; "" if all differ.
std::string coinciding_text(std::span<const Run> runs, const Job& job, Curve curve) {
  const std::vector<std::string> labels = labels_of(runs);
  std::string text;
  for (const Job& group : coinciding(runs, job, curve)) {
    if (group.size() < 2) continue;
    std::vector<std::string> names;
    for (const std::size_t n : group) names.push_back(labels[n]);
    text += " The curves of " + escape_html(listed(names)) + " lie on each other and are drawn as one.";
  }
  return text;
}

std::size_t most_epochs(std::span<const Run> runs, const Job& job) {
  std::size_t most = 0;
  for (const std::size_t n : job) most = std::max(most, runs[n].record.training.epochs.size());
  return most;
}

std::size_t most_samples(std::span<const Run> runs, const Job& job) {
  std::size_t most = 0;
  for (const std::size_t n : job) most = std::max(most, runs[n].samples.time_s.size());
  return most;
}

bool has_power(const Samples& samples) {
  return std::ranges::any_of(samples.watts, [](const Samples::Column& device) {
    return std::ranges::any_of(device.second, [](const auto& watts) { return watts.has_value(); });
  });
}

/// The explanation of the power curves, with their energy class.
std::string power_text(std::span<const Run> runs, const Job& job) {
  std::string text = "A line for each device, at each sample.";
  if (job.size() == 1) text += " Below: the share of each phase in the run's own thread.";
  std::vector<std::string> sources;
  for (const std::size_t n : job) {
    const std::string kind = record::energy_class_name(runs[n].record.energy.kind);
    if (std::ranges::find(sources, kind) == sources.end()) sources.push_back(kind);
  }
  return text + " Energy: " + listed(sources) + ".";
}

/// Why some plots are missing; "" if none is.
std::string left_out_text(std::size_t epochs, std::size_t samples) {
  std::string text;
  if (epochs > 0 && epochs < kFewestEpochs) {
    text += fmt::format("Accuracy and loss are not drawn: {} epoch{}.", epochs, epochs == 1 ? "" : "s");
  }
  if (samples > 0 && samples < kFewestSamples) {
    text += fmt::format("{}CPU use and memory are not drawn: too short, with {} sample{}.", text.empty() ? "" : " ",
                        samples, samples == 1 ? "" : "s");
  }
  return text.empty() ? "" : "<p class=\"explain left-out\">" + text + "</p>";
}

std::string job_latency(std::span<const Run> runs, const std::vector<std::size_t>& job, std::size_t number) {
  const auto id = [&](const char* name) { return fmt::format("{}-{}", name, number); };
  const auto any = [&](auto has) {
    return std::ranges::any_of(job,
                               [&](std::size_t n) { return has_latency(runs[n]) && has(runs[n].record.scenario); });
  };
  std::string html = "<div class=\"grid\">";
  html += plot_card(id("latency"), "How long queries took",
                    "Share of the queries by latency. Vertical lines: median and percentile of a single run; dashed: "
                    "the limit.");
  html += plot_card(id("percentiles"), "Latency by percentile",
                    "How long the quickest half, nine tenths, ... of the queries took at most. Dashed: the limit.");
  if (any([](const record::ScenarioRecord& scenario) { return !scenario.rates.empty(); })) {
    html += plot_card(id("rates"), "Latency by rate",
                      "Each rate of arriving queries that was tried: filled where the percentile of latency kept the "
                      "limit (dashed), a cross where it didn't.");
  }
  if (any([](const record::ScenarioRecord& scenario) { return !scenario.parts_s.empty(); })) {
    html += plot_card(id("parts"), "What latency goes into",
                      "Mean of all queries: waiting for a lane, then what the system told of its work.");
  }
  return html + "</div>";
}

}  // namespace

std::string plot_card(const std::string& id, const std::string& title, const std::string& explanation,
                      const std::string& control) {
  return fmt::format(
      "<div class=\"card\"><div class=\"plot-head\"><h3>{0}</h3><span class=\"controls\">{1}<span class=\"save\">"
      "<button type=\"button\" data-plot=\"plot-{3}\" data-format=\"svg\" title=\"Save this plot as SVG\">SVG</button>"
      "<button type=\"button\" data-plot=\"plot-{3}\" data-format=\"png\" title=\"Save this plot as PNG\">PNG</button>"
      "</span></span></div><p class=\"explain\">{2}</p><div class=\"plot\" id=\"plot-{3}\"></div></div>",
      escape_html(title), control, explanation, id);
}

/// Detectors have none.
bool has_accuracies(std::span<const Run> runs, const Job& job) {
  return std::ranges::any_of(job, [&](std::size_t n) {
    return std::ranges::any_of(runs[n].record.training.epochs, [](const record::EpochRecord& epoch) {
      return epoch.train_accuracy || epoch.val_accuracy;
    });
  });
}

std::string plots_of_job(std::span<const Run> runs, const Job& job, std::size_t number) {
  const auto id = [&](const char* name) { return fmt::format("{}-{}", name, number); };
  const std::size_t epochs = most_epochs(runs, job), samples = most_samples(runs, job);
  std::string html = "<div class=\"needs-plots\"><div class=\"grid\">";
  if (const std::string label = speed_label(runs, job); !label.empty()) {
    html += plot_card(id("speed"), label,
                      "Each dot is a sample; the line is the median, with its 95 % interval where there are enough.");
  }
  if (std::ranges::any_of(job, [&](std::size_t n) { return !runs[n].record.phases_s.empty(); })) {
    html +=
        plot_card(id("phases"), "Time per phase",
                  "Thick: the run's own thread, adding up to the run. Thin, hatched: other threads, behind it.",
                  fmt::format("<span class=\"switch\" data-job=\"{}\"><button type=\"button\" value=\"seconds\">seconds"
                              "</button><button type=\"button\" value=\"share\">share</button></span>",
                              number));
  }
  if (epochs >= kFewestEpochs) {
    if (has_accuracies(runs, job)) {
      html += plot_card(id("accuracy"), "Accuracy",
                        "Solid: validation, its best epoch circled. Dotted: training, as the weights changed." +
                            coinciding_text(runs, job, Curve::kAccuracy));
    }
    html += plot_card(id("loss"), "Loss",
                      "Solid: validation, circled where overfitting begins. Dotted: training. Logarithmic." +
                          coinciding_text(runs, job, Curve::kLoss));
  }
  if (samples >= kFewestSamples) {
    html += plot_card(id("cpu"), "CPU use", "Solid: this program (100 % is one logical CPU). Dotted: everything else.");
    if (std::ranges::any_of(job, [&](std::size_t n) { return has_power(runs[n].samples); })) {
      html += plot_card(id("power"), "Power", power_text(runs, job));
    }
    html += plot_card(id("memory"), "Memory", "Solid: resident (RSS). Dotted: shared pages divided among users (PSS).");
  }
  return html + "</div>" + left_out_text(epochs, samples) + "</div>";
}

std::string latency_part(std::span<const Run> runs) {
  const auto jobs = jobs_of(runs);
  std::string html;
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    const auto& job = jobs[number];
    if (std::ranges::none_of(job, [&](std::size_t n) { return has_latency(runs[n]); })) continue;
    const std::string title = jobs.size() == 1 ? "Latency" : "Latency of " + job_text(runs[job.front()].record);
    html += "<h2>" + escape_html(title) + "</h2>" + job_latency(runs, job, number);
  }
  return html.empty() ? "" : "<section class=\"needs-plots\">" + html + "</section>";
}

}  // namespace evener::report
