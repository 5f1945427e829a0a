// The page's part on networks whose layers were divided over devices.
#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

using record::StageRecord;

/// A column is left out where nothing stands in it.
struct StageColumn {
  const char* title;
  std::string (*text)(const StageRecord&);  // "" = not known
};

std::string bytes_or_none(const std::optional<std::int64_t>& bytes) {
  return bytes && *bytes >= 0 ? bytes_text(static_cast<std::uint64_t>(*bytes)) : "";
}

std::string device_of(const StageRecord& stage) {
  std::string text = escape_html(stage.device);
  if (stage.threads) text += fmt::format("/t{}", *stage.threads);
  if (stage.emulated_speed) text += fmt::format(", slowed to {} of its speed", percent_text(*stage.emulated_speed));
  return text;
}

const StageColumn kStageColumns[] = {
    {"where", device_of},
    {"memory, predicted", [](const StageRecord& stage) { return bytes_or_none(stage.predicted_memory_bytes); }},
    {"memory of its tensors, peak", [](const StageRecord& stage) { return bytes_or_none(stage.memory_bytes); }},
    {"busy", [](const StageRecord& stage) { return stage.busy_share ? percent_text(*stage.busy_share) : ""; }},
};

std::string stage_rows(const std::vector<record::ReplicaRecord>& replicas, const std::vector<StageColumn>& columns) {
  std::string html;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    for (std::size_t s = 0; s < replicas[r].stages.size(); ++s) {
      const std::string of_replica = replicas.size() > 1 ? fmt::format("replica {}, ", r) : "";
      html += "<tr>" + table_cell("stage", fmt::format("{}stage {}", of_replica, s), false);
      for (const StageColumn& column : columns) {
        const std::string text = column.text(replicas[r].stages[s]);
        html += table_cell(column.title, text.empty() ? "–" : text, column.text != device_of);
      }
      html += "</tr>";
    }
  }
  return html;
}

}  // namespace

std::string stages_part(std::span<const Run> runs) {
  std::string html;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const auto& replicas = runs[n].record.placement.replicas;
    if (replicas.empty() || replicas.front().stages.size() < 2) continue;
    std::vector<StageColumn> columns;
    for (const StageColumn& column : kStageColumns) {
      const bool known = std::ranges::any_of(replicas, [&](const record::ReplicaRecord& replica) {
        return std::ranges::any_of(replica.stages,
                                   [&](const StageRecord& stage) { return !column.text(stage).empty(); });
      });
      if (known) columns.push_back(column);
    }
    html += fmt::format(
        "<div class=\"card\"><h3><span class=\"swatch\" style=\"--run:{}\"></span>{}</h3><div class=\"scroll\"><table "
        "class=\"figures\"><thead><tr><th>stage</th>",
        run_color(n), escape_html(runs[n].name));
    for (const StageColumn& column : columns) {
      html += fmt::format("<th{}>{}</th>", column.text == device_of ? "" : " class=\"number\"", column.title);
    }
    html += "</tr></thead><tbody>" + stage_rows(replicas, columns) + "</tbody></table></div></div>";
  }
  return html.empty() ? "" : "<section><h2>Stages</h2>" + html + "</section>";
}

}  // namespace evener::report
