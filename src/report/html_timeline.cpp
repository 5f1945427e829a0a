// The page's parts on replicas, on the stages of divided networks, and on when a pipeline's stages computed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "base/plural.h"
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

/// Narrower bars, as a share of the plot, have no room for their number.
constexpr double kLabelled = 0.006;
/// The width in pixels for a timeline on a large screen; wider ones are scrolled.
constexpr std::size_t kPage = 1100;
/// The approximate number of marks on the time axis.
constexpr double kMarks = 6;

double end_of(const std::vector<StageTask>& tasks) {
  double end_s = 0;
  for (const StageTask& task : tasks) end_s = std::max(end_s, task.to_s);
  return end_s;
}

int steps_of(const std::vector<StageTask>& tasks) {
  int steps = 0;
  for (const StageTask& task : tasks) steps = std::max(steps, task.step + 1);
  return steps;
}

std::string percent(double share) {
  return fmt::format("{:.3f}%", 100 * share);
}

/// A bar with its tooltip.
std::string bar(const StageTask& task, double waited_s, double end_s) {
  const bool of_weights = task.way == "weights";
  const double width = (task.to_s - task.from_s) / end_s;
  std::string told = fmt::format("{} of micro-batch {}: {}, from {} on", of_weights ? "weights' gradients" : task.way,
                                 task.micro_batch, duration_text(task.to_s - task.from_s), duration_text(task.from_s));
  if (waited_s > 0) told += fmt::format("; waited {} before", duration_text(waited_s));
  return fmt::format(
      "<span class=\"task {}{}{}\" tabindex=\"0\" style=\"left:{};width:{}\" data-told=\"{}\"><b>{}</b></span>",
      task.way, (task.from_s + task.to_s) / 2 > end_s / 2 ? " late" : "", width < kLabelled ? " small" : "",
      percent(task.from_s / end_s), percent(width), told, task.micro_batch);
}

/// The distance of marks: 1, 2 or 5 times a power of ten.
double mark_distance(double end_s) {
  const double least = end_s / kMarks;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= least) return times * power;
  }
  return 10 * power;
}

std::string axis(double end_s) {
  std::string html = "<div class=\"axis\">";
  const double distance = mark_distance(end_s);
  for (int n = 0; n * distance <= end_s; ++n) {
    html += fmt::format("<span style=\"left:{}\">{}</span>", percent(n * distance / end_s),
                        n == 0 ? "0" : duration_text(n * distance));
  }
  return html + "</div>";
}

/// Lines where steps begin, if there are several steps.
std::string step_lines(const std::vector<StageTask>& tasks, double end_s) {
  std::string html;
  for (int step = 0; step < steps_of(tasks) && steps_of(tasks) > 1; ++step) {
    double from_s = end_s;
    for (const StageTask& task : tasks) {
      if (task.step == step) from_s = std::min(from_s, task.from_s);
    }
    html += fmt::format("<span class=\"step\" style=\"left:{}\">step {}</span>", percent(from_s / end_s), step + 1);
  }
  return html;
}

std::string rows(const std::vector<StageTask>& tasks) {
  const double end_s = end_of(tasks);
  const bool several = tasks.back().replica > 0;
  std::string html = "<div class=\"steps\"><div class=\"lane\">" + step_lines(tasks, end_s) + "</div></div>";
  for (auto task = tasks.begin(); task != tasks.end();) {
    const auto same = [&](const StageTask& other) {
      return other.replica == task->replica && other.stage == task->stage;
    };
    const auto end = std::find_if_not(task, tasks.end(), same);
    double busy_s = 0, before_s = 0;
    std::string bars;
    for (auto each = task; each != end; ++each) {
      busy_s += each->to_s - each->from_s;
      bars += bar(*each, each->from_s - before_s, end_s);
      before_s = each->to_s;
    }
    html += fmt::format(
        "<div class=\"row\"><div class=\"who\">{}stage {} <small>waits {}</small></div><div "
        "class=\"lane\">{}</div></div>",
        several ? fmt::format("replica {}, ", task->replica) : "", task->stage, percent_text(1 - busy_s / end_s), bars);
    task = end;
  }
  return html + "<div class=\"row last\"><div class=\"who\"></div>" + axis(end_s) + "</div>";
}

/// The timeline's width in pixels: wide enough for the narrowest bars, and scrolled if necessary.
std::size_t least_width(const std::vector<StageTask>& tasks) {
  const auto first = [&](const StageTask& task) {
    return task.replica == tasks.front().replica && task.stage == tasks.front().stage;
  };
  const auto bars = static_cast<std::size_t>(std::ranges::count_if(tasks, first));
  return std::clamp<std::size_t>(100 + 14 * bars, 560, 2400);
}

/// A sentence with the bubble of the whole training and the simulated one.
std::string bubble_text(const record::Record& record) {
  std::string measured, simulated;
  for (const record::Metric& metric : record::metrics_of(record)) {
    if (metric.name == "pipeline_bubble") measured = percent_text(metric.value);
    if (metric.name == "pipeline_bubble_simulated") simulated = percent_text(metric.value);
  }
  if (measured.empty()) return "";
  return fmt::format(
      "Over the whole training the stages waited {} of their time (the bubble); the schedule alone, with each stage's "
      "mean times, makes it {}.",
      measured, simulated);
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
  return section_html("Replicas", "", html);
}

std::string stages_part(std::span<const Run> runs) {
  std::string html;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const auto& replicas = runs[n].record.placement.replicas;
    if (replicas.empty() || replicas.front().stages.size() < 2) continue;
    html += card_of(runs[n], n, stages_table(replicas).scrolled());
  }
  return section_html("Stages", "", html);
}

std::string timeline_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    if (run.timeline.empty() || end_of(run.timeline) <= 0) continue;
    const int steps = steps_of(run.timeline);
    html += fmt::format(
        "<div class=\"card\"><h3>{}</h3><p class=\"explain\">The last {} of the training. {}</p><p "
        "class=\"key\"><span><i class=\"forward\"></i>forward</span><span><i "
        "class=\"backward\"></i>backward</span>{}<span><i class=\"bubble\"></i>waiting, exchange or "
        "update</span></p><div class=\"timeline-scroll\"><div class=\"timeline{}\" "
        "style=\"min-width:{}px\">{}</div></div></div>",
        escape_html(run.name), steps == 1 ? "step" : counted(steps, "step"), bubble_text(run.record),
        std::ranges::find(run.timeline, "weights", &StageTask::way) != run.timeline.end()
            ? "<span><i class=\"weights\"></i>weights' gradients</span>"
            : "",
        least_width(run.timeline) > kPage ? " wide" : "", least_width(run.timeline), rows(run.timeline));
  }
  return section_html("Stages over time",
                      "A bar is a micro-batch, by its number, that passes a stage. Point at one, or touch it, to see "
                      "what it took.",
                      html);
}

}  // namespace evener::report
