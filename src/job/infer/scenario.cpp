#include "job/infer/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "job/progress.h"
#include "record/metric.h"

namespace evener::job {
namespace {

constexpr std::size_t kClassesOfAnAnswer = 5;

class InferSystem : public bench::System {
 public:
  InferSystem(task::InferJob& job, const data::Samples& samples, std::string main_output)
      : job_(job), samples_(samples), main_output_(std::move(main_output)) {}

  void load(std::span<const std::int64_t> wanted) override {
    values_.clear();
    for (const std::int64_t sample : wanted) {
      const auto index = static_cast<std::size_t>(sample);
      try {
        values_.emplace(sample, task::read_values(samples_, index));
      } catch (const Error& error) {
        throw Error(fmt::format("'{}' can't be read ({}): a scenario needs images that can be", samples_.name(index),
                                error.what()));
      }
    }
    job_.watch_stages();
  }

  bench::LatencyParts answer(int lane, const bench::Query& query) override {
    std::vector<const task::SampleValues*> values;
    for (const std::int64_t sample : query.samples) values.push_back(&values_.at(sample));
    task::CallTimes times;
    const TensorMap outputs = job_.call(static_cast<std::size_t>(lane), values, &times);
    bench::LatencyParts parts;
    parts.preprocess_s = times.gather_s;
    parts.compute_s = times.compute_s;
    const Stopwatch sorting;
    const HostTensor& scores = outputs.at(main_output_);
    const auto each = static_cast<std::size_t>(element_count(scores.shape) / scores.shape.front());
    for (std::size_t i = 0; i < query.samples.size(); ++i) {
      task::top_classes({scores.floats() + i * each, each}, kClassesOfAnAnswer, task::OutputType::kAuto);
    }
    parts.postprocess_s = sorting.seconds();
    return parts;
  }

 private:
  task::InferJob& job_;
  const data::Samples& samples_;
  const std::string main_output_;
  std::map<std::int64_t, task::SampleValues> values_;
};

class ScenarioOnLine : public bench::ScenarioObserver {
 public:
  explicit ScenarioOnLine(Observer& line) : line_(line) {}

  void on_part(const std::string& what) override {
    part_ = what;
    if (line_.redraws()) line_.show(part_);
  }
  void on_progress(double seconds, std::int64_t queries) override {
    if (!pace_.is_due(line_)) return;
    line_.show(fmt::format("{}: {} queries in {}", part_, queries, duration_text(seconds)));
  }

 private:
  Observer& line_;
  std::string part_;
  RedrawPace pace_;
};

}  // namespace

void suit_scenario(const ScenarioFlags& flags, task::InferOptions& options) {
  options.repeated = true;
  switch (bench::parse_scenario(*flags.scenario)) {
    case bench::Scenario::kSingleStream:
      options.batch = options.batch.value_or(1);
      options.streams = options.streams.value_or(1);
      break;
    case bench::Scenario::kMultiStream:
      options.batch = options.batch.value_or(*flags.samples_per_query);
      options.streams = options.streams.value_or(1);
      break;
    case bench::Scenario::kServer:
      options.batch = options.batch.value_or(1);
      options.suits_few = true;
      break;
    case bench::Scenario::kOffline:
      break;
  }
}

bench::ScenarioResult measure_scenario(const ScenarioFlags& flags, task::InferJob& job, const data::Samples& samples,
                                       const std::string& main_output, Observer& line) {
  bench::ScenarioOptions options = flags.scenario_options(static_cast<std::int64_t>(samples.size()));
  options.lanes = static_cast<int>(job.lanes());
  options.largest_batch = job.setup().batch;
  InferSystem system(job, samples, main_output);
  ScenarioOnLine shown(line);
  bench::ScenarioResult result = bench::run_scenario(options, system, &shown);
  line.finish();
  return result;
}

std::string scenario_text(const record::Record& record) {
  std::size_t width = 0;
  for (const auto& [name, metric] : record.metrics) width = std::max(width, metric.label.size() + 2);
  std::string text;
  for (const auto& [name, metric] : record.metrics) {
    if (!metric.value) continue;
    const std::string value = metric.unit == "s"
                                  ? duration_text(*metric.value)
                                  : si_text(*metric.value) + (metric.unit.empty() ? "" : " " + metric.unit);
    text += fmt::format("{:<{}}{}\n", metric.label, width, value);
  }
  if (record.validity.valid) text += *record.validity.valid ? "VALID\n" : "INVALID\n";
  for (const auto& reason : record.validity.reasons) text += fmt::format("  {}; {}\n", reason.what, reason.advice);
  return text;
}

}  // namespace evener::job
