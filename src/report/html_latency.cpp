// The page's part on latency: of runs that were measured in a scenario.
#include <fmt/format.h>

#include <algorithm>

#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/latencies.h"

namespace evener::report {
namespace {

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
