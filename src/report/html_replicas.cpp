// What each replica of a run did: where it computed, its share of the samples, how long it worked and how long it
// waited.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/names.h"
#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

using record::Record;
using record::ReplicaRecord;

std::string where_text(const ReplicaRecord& replica) {
  std::string text;
  for (const auto& stage : replica.stages) {
    text += (text.empty() ? "" : " .. ") + stage.device;
    if (stage.threads) text += fmt::format("/t{}", *stage.threads);
    if (stage.emulated_speed) text += fmt::format(", slowed to {} of its speed", percent_text(*stage.emulated_speed));
  }
  return replica.host.empty() ? text : replica.host + ": " + text;
}

constexpr const char* kTitles[] = {
    "replica", "where", "samples", "share", "images/s while busy", "busy", "exchange, waiting, update"};

std::string row(const Record& record, std::size_t rank) {
  const ReplicaRecord& replica = record.placement.replicas[rank];
  // The rest of the time of training: exchanging, waiting for the others, and the update.
  const std::string rest =
      replica.busy_s && record.times.train ? duration_text(std::max(0.0, *record.times.train - *replica.busy_s)) : "–";
  const bool timed = replica.samples && replica.busy_s && *replica.busy_s > 0;
  const std::string cells[] = {std::to_string(rank),
                               escape_html(where_text(replica)),
                               replica.samples ? std::to_string(*replica.samples) : "–",
                               replica.share ? percent_text(*replica.share) : "–",
                               timed ? number_text(static_cast<double>(*replica.samples) / *replica.busy_s) : "–",
                               replica.busy_s ? duration_text(*replica.busy_s) : "–",
                               rest};
  std::string html = "<tr>";
  for (std::size_t n = 0; n < std::size(cells); ++n) html += table_cell(kTitles[n], cells[n], n > 1);
  return html + "</tr>";
}

std::string division_text(const record::DivisionRecord& division) {
  std::string text;
  for (const std::int64_t samples : division.samples) text += (text.empty() ? "" : " : ") + std::to_string(samples);
  return text;
}

/// How the shares of a batch came about, where they changed.
std::string divisions_part(const std::vector<record::DivisionRecord>& divisions) {
  if (divisions.size() < 2) return "";
  return fmt::format("<p>A batch was divided {} at first and {} from step {} on, after {} change{}.</p>",
                     division_text(divisions.front()), division_text(divisions.back()), divisions.back().step + 1,
                     divisions.size() - 1, divisions.size() == 2 ? "" : "s");
}

}  // namespace

std::string replicas_part(std::span<const Run> runs) {
  std::string html;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const Record& record = runs[n].record;
    const std::size_t replicas = record.placement.replicas.size();
    if (replicas < 2) continue;
    html += fmt::format(
        "<div class=\"card\"><h3><span class=\"swatch\" style=\"--run:{}\"></span>{}</h3><div class=\"scroll\"><table "
        "class=\"figures\"><thead><tr>",
        run_color(n), escape_html(runs[n].name));
    for (const char* title : kTitles)
      html +=
          fmt::format("<th{}>{}</th>", title == kTitles[0] || title == kTitles[1] ? "" : " class=\"number\"", title);
    html += "</tr></thead><tbody>";
    for (std::size_t rank = 0; rank < replicas; ++rank) html += row(record, rank);
    html += "</tbody></table></div>" + divisions_part(record.placement.divisions) + "</div>";
  }
  return html.empty() ? "" : "<section><h2>Replicas</h2>" + html + "</section>";
}

}  // namespace evener::report
