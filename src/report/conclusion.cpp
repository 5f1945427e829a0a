#include "report/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/names.h"
#include "measure/metric.h"
#include "measure/record_kind.h"
#include "report/figures.h"
#include "report/format.h"

namespace evener::report {
namespace {

using measure::Metric;
using measure::Record;
using Group = std::vector<const Record*>;

/// One run each can't tell apart speeds that differ less: epochs of one run don't show how much runs differ.
constexpr double kRunToRunNoise = 0.03;
/// Shares further apart are not called equal, even where chance could explain them.
constexpr double kEqualShare = 0.01;

/// Runs of one job, in the order of their first run.
std::vector<Group> groups_of(std::span<const Record> records) {
  std::vector<Group> groups;
  for (const Record& record : records) {
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const Group& known) { return same_job(*known.front(), record); });
    if (group == groups.end()) {
      groups.push_back({&record});
    } else {
      group->push_back(&record);
    }
  }
  return groups;
}

/// "--lr 0.1", "no --nesterov"; "" for what can't be said in a word.
std::string option_text(const std::string& name, const std::string& json) {
  const nlohmann::json value = nlohmann::json::parse(json);
  if (value.is_boolean()) return (value.get<bool>() ? "--" : "no --") + name;
  if (value.is_null()) return "no --" + name;
  if (value.is_structured()) return "";
  return "--" + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
}

/// The first options, by name, that the runs were given different values for: " with --lr 0.1 and --momentum 0.9".
std::string other_options(const Record& record, const Record& other) {
  // Told in other words, or (of a resumed run) where it went on, which is no choice of a way.
  static const std::set<std::string> left_out = {"batch", "engine", "normalize", "on", "precision", "resume"};
  constexpr int kMostShown = 2;
  std::string text;
  int shown = 0;
  for (const auto& [name, value] : record.config) {
    if (left_out.contains(name) || shown == kMostShown) continue;
    if (const auto of_other = other.config.find(name); of_other == other.config.end() || of_other->second == value) {
      continue;
    }
    const std::string option = option_text(name, value);
    if (option.empty()) continue;
    text += (shown++ == 0 ? " with " : " and ") + option;
  }
  return text;
}

/// "cpu/t2", and what else sets it apart from `other`: "cpu/t2 in bf16".
std::string way_text(const Record& record, const Record& other) {
  std::string text = record.placement.text;
  if (record.precision != other.precision) text += " in " + record.precision;
  if (record.batch != other.batch && record.batch) text += fmt::format(" with batch {}", *record.batch);
  if (record.engine != other.engine) text += " by " + record.engine;
  return text == other.placement.text ? text + other_options(record, other) : text;
}

std::string invalid_text(const Record& record) {
  if (record.validity.valid.value_or(true) || record.validity.reasons.empty()) return "";
  std::string rules;
  for (const auto& reason : record.validity.reasons) rules += (rules.empty() ? "" : ", ") + reason.rule;
  return rules;
}

/// ", at higher test accuracy (97.2 % against 60.0 %)": one figure of quality of both runs.
std::string quality_clause(const Metric& first, const Metric& second) {
  const std::string texts[] = {figure_text(first, ""), figure_text(second, "")};
  if (first.unit != "share" || first.of_images.value_or(0) == 0 || second.of_images.value_or(0) == 0) {
    return fmt::format(", with {} of {} and {}", first.label, texts[0], texts[1]);
  }
  if (measure::shares_differ(*first.value, *first.of_images, *second.value, *second.of_images)) {
    return fmt::format(", at {} {} ({} against {})", *first.value > *second.value ? "higher" : "lower", first.label,
                       texts[0], texts[1]);
  }
  if (std::abs(*first.value - *second.value) <= kEqualShare) {
    return texts[0] == texts[1] ? fmt::format(", at equal {} ({})", first.label, texts[0])
                                : fmt::format(", at equal {} ({} and {})", first.label, texts[0], texts[1]);
  }
  return fmt::format(", with figures of {} ({} and {}) that {} images can't tell apart", first.label, texts[0],
                     texts[1], std::min(*first.of_images, *second.of_images));
}

bool has_value(const std::vector<Metric>& metrics, const std::string& name) {
  const Metric* metric = measure::find_metric(metrics, name);
  return metric != nullptr && metric->value.has_value();
}

/// What the figures of quality say that both runs have; one that stands in for another only where that is missing.
std::string quality_clauses(const Record& a, const Record& b) {
  const std::vector<Metric> of_a = measure::metrics_of(a), of_b = measure::metrics_of(b);
  std::string clauses;
  for (const Metric& metric : of_a) {
    const bool both = has_value(of_a, metric.name) && has_value(of_b, metric.name);
    const bool better_known = has_value(of_a, metric.stands_in_for) && has_value(of_b, metric.stands_in_for);
    if (metric.role != measure::MetricRole::kQuality || !both || better_known) continue;
    clauses += quality_clause(metric, *measure::find_metric(of_b, metric.name));
  }
  return clauses;
}

/// "resnet34 on cpu/t2 trains 1.85x as fast as on cpu/t1 (26.9 against 14.5 images/s)".
std::string speed_clause(const Record& record, const Record& base, const std::string& prefix) {
  const auto& kind = measure::kind_of(record);
  const std::vector<Metric> metrics = measure::metrics_of(record), base_metrics = measure::metrics_of(base);
  const Metric *speed = measure::main_speed(metrics), *base_speed = measure::main_speed(base_metrics);
  const std::string way = way_text(record, base);
  const std::string base_way =
      way_text(base, record) == way ? "in another run of the same" : "on " + way_text(base, record);
  const std::optional<double> ratio =
      speed == nullptr || base_speed == nullptr ? std::nullopt : measure::speed_ratio(*base_speed, *speed);
  if (!ratio) {
    return fmt::format("{} on {} and {} can't be compared in speed: {} is missing", record.model.name, way, base_way,
                       speed == nullptr ? "it" : speed->unit);
  }
  const measure::Comparison comparison = measure::compare_speeds(*base_speed, *speed);
  const std::string rates =
      fmt::format("{} against {} {}", number_text(*speed->value), number_text(*base_speed->value), speed->unit);
  if (!comparison.interval) {
    return fmt::format("{} on {} {} {}x as fast as {} ({}), but this stays undecided: too few samples",
                       record.model.name, way, kind.did, number_text(*ratio), base_way, rates);
  }
  if (comparison.verdict == measure::Verdict::kUndecided) {
    return fmt::format("whether {} {} faster on {} or {} is undecided ({}; 95 % interval of the ratio {} to {})",
                       record.model.name, kind.does, way, base_way, rates, number_text(comparison.interval->low),
                       number_text(comparison.interval->high));
  }
  if (std::abs(*ratio - 1) < kRunToRunNoise) {
    return fmt::format("{} {} about as fast on {} as {} ({})", record.model.name, kind.does, way, base_way, rates);
  }
  return fmt::format("{}{} on {} {} {}x as fast as {} ({})", prefix, record.model.name, way, kind.does,
                     number_text(*ratio), base_way, rates);
}

std::string invalid_clause(const Group& compared) {
  std::string clause;
  for (const Record* record : compared) {
    const std::string rules = invalid_text(*record);
    if (rules.empty()) continue;
    clause += fmt::format("{}{} is INVALID as a measurement ({})", clause.empty() ? "; but " : ", ",
                          record->placement.text, rules);
  }
  return clause;
}

/// " and reached 97.2 % test accuracy".
std::string reached_clause(const std::vector<Metric>& metrics) {
  std::string clause;
  for (const Metric& metric : metrics) {
    if (metric.role != measure::MetricRole::kQuality || !metric.value) continue;
    if (has_value(metrics, metric.stands_in_for)) continue;
    clause += (clause.empty() ? " and reached " : " and ") + figure_text(metric, "") + " " + metric.label;
  }
  return clause;
}

std::string single_clause(const Record& record) {
  const auto& kind = measure::kind_of(record);
  const std::string amount = kind.amount(record);
  const std::string what =
      fmt::format("{}{} on {}", amount.empty() ? "" : amount + " of ", record.data.location, record.placement.text);
  std::string text = record.model.name + " ";
  switch (record.status) {
    case measure::Status::kInterrupted:
      text += "was interrupted after ";
      break;
    case measure::Status::kDiverged:
      text += "diverged after ";
      break;
    case measure::Status::kFailed:
      text += "failed after ";
      break;
    case measure::Status::kRunning:
      text += "has not ended yet, and did ";
      break;
    case measure::Status::kKilled:
      text += "ended without finishing after ";
      break;
    case measure::Status::kDone:
      text += std::string(kind.did) + " ";
      break;
  }
  text += what;
  const std::vector<Metric> metrics = measure::metrics_of(record);
  const Metric* speed = measure::main_speed(metrics);
  if (record.times.total) text += " in " + duration_text(*record.times.total);
  if (speed != nullptr && speed->value) text += " at " + figure_text(*speed, "");
  text += reached_clause(metrics);
  const std::string rules = invalid_text(record);
  return rules.empty() ? text : text + fmt::format("; but its times are INVALID as a measurement ({})", rules);
}

/// The faster of two runs comes first; one without a speed last.
bool is_faster(const Record* a, const Record* b) {
  const std::vector<Metric> of_a = measure::metrics_of(*a), of_b = measure::metrics_of(*b);
  const Metric *speed_a = measure::main_speed(of_a), *speed_b = measure::main_speed(of_b);
  const bool known_a = speed_a != nullptr && speed_a->value, known_b = speed_b != nullptr && speed_b->value;
  if (!known_a || !known_b) return known_a && !known_b;
  return speed_a->better == measure::Better::kHigher ? *speed_a->value > *speed_b->value
                                                     : *speed_a->value < *speed_b->value;
}

std::string group_clause(const Group& group) {
  if (group.size() == 1) return single_clause(*group.front());
  const Record* base = group.front();
  Group by_speed = group;
  std::stable_sort(by_speed.begin(), by_speed.end(), is_faster);
  const Record* shown = group.size() == 2 ? group[1] : by_speed.front();
  std::string prefix;
  if (group.size() > 2) {
    if (shown == base) base = by_speed[1];  // the first is the fastest: against the next
    prefix = fmt::format("fastest of {} runs, ", group.size());
  }
  return speed_clause(*shown, *base, prefix) + quality_clauses(*shown, *base) + invalid_clause({shown, base});
}

}  // namespace

std::string conclusion(std::span<const Record> records) {
  std::string sentence;
  for (const Group& group : groups_of(records)) sentence += (sentence.empty() ? "" : "; ") + group_clause(group);
  if (sentence.empty()) return sentence;
  if (sentence.starts_with("whether ")) sentence[0] = 'W';
  if (sentence.starts_with("fastest ")) sentence[0] = 'F';
  return sentence + ".";
}

std::string terminal_conclusion(std::span<const Record> records) {
  return printable(conclusion(records));
}

std::string markdown_conclusion(std::span<const Record> records) {
  return escape_markdown(conclusion(records));
}

}  // namespace evener::report
