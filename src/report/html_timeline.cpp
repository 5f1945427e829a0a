// The page's part on pipelines: when each stage computed which micro-batch and when it waited, drawn without scripts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "base/plural.h"
#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

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

bool splits_backward(const std::vector<StageTask>& tasks) {
  return std::ranges::find(tasks, "weights", &StageTask::way) != tasks.end();
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
      "Over the whole training the stages waited {} of their time (the bubble); the schedule alone, with "
      "each stage's mean times, makes it {}.",
      measured, simulated);
}

}  // namespace

std::string timeline_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    if (run.timeline.empty() || end_of(run.timeline) <= 0) continue;
    const int steps = steps_of(run.timeline);
    html += fmt::format(
        "<div class=\"card\"><h3>{}</h3><p class=\"explain\">The last {} of the training. {}</p>"
        "<p class=\"key\"><span><i class=\"forward\"></i>forward</span><span><i class=\"backward\"></i>backward</span>"
        "{}<span><i class=\"bubble\"></i>waiting, exchange or update</span></p>"
        "<div class=\"timeline-scroll\"><div class=\"timeline{}\" style=\"min-width:{}px\">{}</div></div></div>",
        escape_html(run.name), steps == 1 ? "step" : counted(steps, "step"), bubble_text(run.record),
        splits_backward(run.timeline) ? "<span><i class=\"weights\"></i>weights' gradients</span>" : "",
        least_width(run.timeline) > kPage ? " wide" : "", least_width(run.timeline), rows(run.timeline));
  }
  if (html.empty()) return "";
  return "<section><h2>Stages over time</h2><p class=\"explain\">A bar is a micro-batch, by its number, that passes a "
         "stage. Point at one, or touch it, to see what it took.</p>" +
         html + "</section>";
}

}  // namespace evener::report
