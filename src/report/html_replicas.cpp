// The page's parts on replicas, and on the stages of networks whose layers were divided over devices.
#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"

namespace evener::report {
namespace {

using record::Record;
using record::ReplicaRecord;
using record::StageRecord;

std::string device_of(const StageRecord& stage) {
  std::string text = stage.device;
  if (stage.threads) text += fmt::format("/t{}", *stage.threads);
  if (stage.emulated_speed) text += fmt::format(", slowed to {} of its speed", percent_text(*stage.emulated_speed));
  return text;
}

std::string where_text(const ReplicaRecord& replica) {
  std::string text;
  for (const StageRecord& stage : replica.stages) text += (text.empty() ? "" : " .. ") + device_of(stage);
  return replica.host.empty() ? text : replica.host + ": " + text;
}

HtmlRow replica_row(const Record& record, std::size_t rank) {
  const ReplicaRecord& replica = record.placement.replicas[rank];
  // The rest of the training time: all-reduce, waiting for other replicas, and the update.
  const std::string rest =
      replica.busy_s && record.times.train ? duration_text(std::max(0.0, *record.times.train - *replica.busy_s)) : "–";
  const bool timed = replica.samples && replica.busy_s && *replica.busy_s > 0;
  return {{{std::to_string(rank)},
           {escape_html(where_text(replica))},
           {replica.samples ? std::to_string(*replica.samples) : "–"},
           {replica.share ? percent_text(*replica.share) : "–"},
           {timed ? number_text(static_cast<double>(*replica.samples) / *replica.busy_s) : "–"},
           {replica.busy_s ? duration_text(*replica.busy_s) : "–"},
           {rest}}};
}

std::string division_text(const record::DivisionRecord& division) {
  std::string text;
  for (const std::int64_t samples : division.samples) text += (text.empty() ? "" : " : ") + std::to_string(samples);
  return text;
}

/// A sentence on how the division of batches changed during the run.
std::string divisions_part(const std::vector<record::DivisionRecord>& divisions) {
  if (divisions.size() < 2) return "";
  return fmt::format("<p>A batch was divided {} at first and {} from step {} on, after {} change{}.</p>",
                     division_text(divisions.front()), division_text(divisions.back()), divisions.back().step + 1,
                     divisions.size() - 1, divisions.size() == 2 ? "" : "s");
}

std::string card_of(const Run& run, std::size_t n, const std::string& html) {
  return fmt::format("<div class=\"card\"><h3>{}{}</h3>{}</div>", swatch(n), escape_html(run.name), html);
}

/// A column, which is left out if all its cells are empty.
struct StageColumn {
  const char* title;
  std::string (*text)(const StageRecord&);  // "" = not known
};

std::string bytes_or_none(const std::optional<std::int64_t>& bytes) {
  return bytes && *bytes >= 0 ? bytes_text(static_cast<std::uint64_t>(*bytes)) : "";
}

const StageColumn kStageColumns[] = {
    {"where", device_of},
    {"memory, predicted", [](const StageRecord& stage) { return bytes_or_none(stage.predicted_memory_bytes); }},
    {"memory of its tensors, peak", [](const StageRecord& stage) { return bytes_or_none(stage.memory_bytes); }},
    {"busy", [](const StageRecord& stage) { return stage.busy_share ? percent_text(*stage.busy_share) : ""; }},
};

HtmlTable stages_table(const std::vector<ReplicaRecord>& replicas) {
  HtmlTable table{.columns = {{"stage"}}};
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    for (std::size_t s = 0; s < replicas[r].stages.size(); ++s) {
      const std::string of_replica = replicas.size() > 1 ? fmt::format("replica {}, ", r) : "";
      table.rows.push_back({{{fmt::format("{}stage {}", of_replica, s)}}});
    }
  }
  for (const StageColumn& column : kStageColumns) {
    std::vector<std::string> texts;
    for (const ReplicaRecord& replica : replicas) {
      for (const StageRecord& stage : replica.stages) texts.push_back(column.text(stage));
    }
    if (std::ranges::all_of(texts, &std::string::empty)) continue;
    table.columns.push_back({column.title, column.text != device_of});
    for (std::size_t n = 0; n < texts.size(); ++n) {
      table.rows[n].cells.push_back({texts[n].empty() ? "–" : escape_html(texts[n])});
    }
  }
  return table;
}

}  // namespace

std::string replicas_part(std::span<const Run> runs) {
  std::string html;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const Record& record = runs[n].record;
    const std::size_t replicas = record.placement.replicas.size();
    if (replicas < 2) continue;
    HtmlTable table{.columns = {{"replica"},
                                {"where"},
                                {"samples", true},
                                {"share", true},
                                {"images/s while busy", true},
                                {"busy", true},
                                {"exchange, waiting, update", true}}};
    for (std::size_t rank = 0; rank < replicas; ++rank) table.rows.push_back(replica_row(record, rank));
    html += card_of(runs[n], n, table.scrolled() + divisions_part(record.placement.divisions));
  }
  return html.empty() ? "" : "<section><h2>Replicas</h2>" + html + "</section>";
}

std::string stages_part(std::span<const Run> runs) {
  std::string html;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const auto& replicas = runs[n].record.placement.replicas;
    if (replicas.empty() || replicas.front().stages.size() < 2) continue;
    html += card_of(runs[n], n, stages_table(replicas).scrolled());
  }
  return html.empty() ? "" : "<section><h2>Stages</h2>" + html + "</section>";
}

}  // namespace evener::report
