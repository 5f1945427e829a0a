#include "report/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/names.h"
#include "base/statistics.h"
#include "base/terminal_text.h"
#include "record/metric.h"
#include "record/record_kind.h"
#include "record/validity.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/ranking.h"
#include "report/ways.h"

namespace evener::report {
namespace {

using record::Metric;
using record::Record;
using Group = std::vector<const Run*>;
using Sentences = std::vector<std::string>;

/// The runs of one job, in the given order.
std::vector<Group> groups_of(std::span<const Run> runs) {
  std::vector<Group> groups;
  for (const std::vector<std::size_t>& job : jobs_of(runs)) {
    Group& group = groups.emplace_back();
    for (const std::size_t n : job) group.push_back(&runs[n]);
  }
  return groups;
}

std::string invalid_text(const Record& record) {
  const bool is_valid = record.validity.valid.value_or(true) || record.validity.reasons.empty();
  if (is_valid || is_told_in_passing(record)) return "";
  std::string rules;
  for (const auto& reason : record.validity.reasons) rules += (rules.empty() ? "" : ", ") + reason.rule;
  return rules;
}

/// ", at higher test accuracy (97.2 % against 60.0 %)": compares one figure of quality.
std::string quality_clause(const Metric& first, const Metric& second) {
  const std::string texts[] = {figure_text(first, ""), figure_text(second, "")};
  if (first.unit != "share" || first.of_images.value_or(0) == 0 || second.of_images.value_or(0) == 0) {
    return fmt::format(", with {} of {} and {}", first.label, texts[0], texts[1]);
  }
  if (record::shares_differ(*first.value, *first.of_images, *second.value, *second.of_images)) {
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

/// Compares the figures of quality that both runs have. A figure that stands in for another is used only if that one is
/// missing.
std::string quality_clauses(const Record& a, const Record& b) {
  const std::vector<Metric> of_a = record::metrics_of(a), of_b = record::metrics_of(b);
  std::string clauses;
  for (const Metric& metric : of_a) {
    const bool both = has_value(of_a, metric.name) && has_value(of_b, metric.name);
    const bool better_known = has_value(of_a, metric.stands_in_for) && has_value(of_b, metric.stands_in_for);
    if (metric.role != record::MetricRole::kQuality || !both || better_known) continue;
    clauses += quality_clause(metric, *record::find_metric(of_b, metric.name));
  }
  return clauses;
}

/// "resnet34 on cpu/t2 trained 1.85x as fast as on cpu/t1 in one run of each (26.9 against 14.5 images/s)": an
/// observation, which doesn't claim that other runs would show the same.
std::string speed_clause(const Record& record, const Record& base) {
  const auto& kind = record::kind_of(record);
  const std::vector<Metric> metrics = record::metrics_of(record), base_metrics = record::metrics_of(base);
  const Metric *speed = record::main_speed(metrics), *base_speed = record::main_speed(base_metrics);
  const std::string way = way_text(record, base);
  const std::string base_way =
      way_text(base, record) == way ? "in another run of the same" : "on " + way_text(base, record);
  const std::optional<double> ratio =
      speed == nullptr || base_speed == nullptr ? std::nullopt : record::speed_ratio(*base_speed, *speed);
  if (!ratio) {
    return fmt::format("{} on {} and {} can't be compared in speed: {} is missing", record.model.name, way, base_way,
                       speed == nullptr ? "it" : speed->unit);
  }
  const record::Comparison comparison = record::compare_speeds(*base_speed, *speed);
  const std::string rates =
      fmt::format("{} against {} {}", number_text(*speed->value), number_text(*base_speed->value), speed->unit);
  const bool valid = record.validity.valid.value_or(true) && base.validity.valid.value_or(true);
  if (!valid || !comparison.interval) {
    return fmt::format("{} on {} {} {}x as fast as {} ({}; undecided, {})", record.model.name, way, kind.did,
                       number_text(*ratio), base_way, rates,
                       valid ? "with too few samples" : "as the times are not to be quoted");
  }
  if (comparison.verdict == record::Verdict::kUndecided) {
    return fmt::format("Whether {} {} faster on {} or {} is undecided ({}; within each run it differs by more)",
                       record.model.name, kind.does, way, base_way, rates);
  }
  if (std::abs(*ratio - 1) < kRunToRunNoise) {
    return fmt::format("{} {} about as fast on {} as {} in one run of each ({})", record.model.name, kind.did, way,
                       base_way, rates);
  }
  return fmt::format("{} on {} {} {}x as fast as {} in one run of each ({})", record.model.name, way, kind.did,
                     number_text(*ratio), base_way, rates);
}

/// " and reached 97.2 % test accuracy".
std::string reached_clause(const std::vector<Metric>& metrics) {
  std::string clause;
  for (const Metric& metric : metrics) {
    if (metric.role != record::MetricRole::kQuality || !metric.value) continue;
    if (has_value(metrics, metric.stands_in_for)) continue;
    clause += (clause.empty() ? " and reached " : " and ") + figure_text(metric, "") + " " + metric.label;
  }
  return clause;
}

std::string single_clause(const Record& record) {
  const auto& kind = record::kind_of(record);
  const std::string amount = kind.amount(record);
  const std::string what =
      fmt::format("{}{} on {}", amount.empty() ? "" : amount + " of ", record.data.location, record.placement.text);
  std::string text = record.model.name + " ";
  switch (record.status) {
    case record::Status::kInterrupted:
      text += "was interrupted after ";
      break;
    case record::Status::kDiverged:
      text += "diverged after ";
      break;
    case record::Status::kFailed:
      text += "failed after ";
      break;
    case record::Status::kRunning:
      text += "has not ended yet, and did ";
      break;
    case record::Status::kKilled:
      text += "ended without finishing after ";
      break;
    case record::Status::kDone:
      text += std::string(kind.did) + " ";
      break;
  }
  text += what;
  const std::vector<Metric> metrics = record::metrics_of(record);
  const Metric* speed = record::main_speed(metrics);
  if (record.times.total) text += " in " + duration_text(*record.times.total);
  if (speed != nullptr && speed->value) {
    text += (speed->unit == "s" ? " at a " + speed->label + " of " : " at ") + figure_text(*speed, "");
  }
  return text + reached_clause(metrics);
}

Sentences group_sentences(const Group& group) {
  if (group.size() == 1) return {single_clause(group.front()->record)};
  Sentences sentences;
  if (group.size() == 2) {
    const Record &base = group[0]->record, &record = group[1]->record;
    sentences = {speed_clause(record, base) + quality_clauses(record, base)};
  } else {
    sentences = speed_sentences(group);
    for (std::string& sentence : quality_sentences(group)) sentences.push_back(std::move(sentence));
  }
  if (std::string sentence = energy_sentence(group); !sentence.empty()) sentences.push_back(std::move(sentence));
  return sentences;
}

/// The runs whose times alone are INVALID, those with the same reasons together: "a and b ran beside other programs (7
/// % of the CPUs): their times, speeds and joules are not to be quoted".
Sentences in_passing_sentences(std::span<const Run> runs) {
  std::map<std::string, Group> groups;
  for (const Run& run : runs) {
    const bool is_valid = run.record.validity.valid.value_or(true);
    if (!is_valid && is_told_in_passing(run.record)) groups[validity_text(run.record)].push_back(&run);
  }
  Sentences sentences;
  for (const auto& [text, group] : groups) {
    std::vector<std::string> names;
    std::vector<double> loads;
    for (const Run* run : group) {
      names.push_back(run->name);
      if (const auto load = record::others_load_percent(run->record)) loads.push_back(*load);
    }
    const std::string beside = record::kBesideOthers;
    const std::string what = text.starts_with(beside) ? load_text(median(loads)) + text.substr(beside.size()) : text;
    sentences.push_back(fmt::format("{} {}: {} times, speeds and joules are not to be quoted",
                                    runs.size() == 1 ? "Measured" : listed(names, kMostNamed) + " ran", what,
                                    group.size() == 1 ? "its" : "their"));
  }
  return sentences;
}

/// "INVALID as measurements: a and b (other load), c (noise)": runs with the same reasons together.
std::string invalid_sentence(std::span<const Run> runs) {
  std::vector<std::pair<std::string, std::vector<std::string>>> names_of_rules;
  for (const Run& run : runs) {
    const std::string rules = invalid_text(run.record);
    if (rules.empty()) continue;
    auto found = std::ranges::find(names_of_rules, rules, &std::pair<std::string, std::vector<std::string>>::first);
    if (found == names_of_rules.end()) found = names_of_rules.insert(found, {rules, {}});
    found->second.push_back(run.name);
  }
  if (names_of_rules.empty()) return "";
  if (runs.size() == 1) return fmt::format("Its times are INVALID as a measurement ({})", names_of_rules[0].first);
  std::string text;
  for (const auto& [rules, names] : names_of_rules) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", listed(names, kMostNamed), rules);
  }
  return "INVALID as measurements: " + text;
}

}  // namespace

std::vector<std::string> conclusion(std::span<const Run> runs) {
  Sentences sentences;
  for (const Group& group : groups_of(runs)) {
    for (std::string& sentence : group_sentences(group)) sentences.push_back(std::move(sentence) + ".");
  }
  for (std::string& sentence : in_passing_sentences(runs)) sentences.push_back(std::move(sentence) + ".");
  if (const std::string sentence = invalid_sentence(runs); !sentence.empty()) sentences.push_back(sentence + ".");
  return sentences;
}

std::string terminal_conclusion(std::span<const Run> runs) {
  std::string text;
  for (const std::string& sentence : conclusion(runs)) text += (text.empty() ? "" : "\n") + one_line(sentence);
  return text;
}

std::string markdown_conclusion(std::span<const Run> runs) {
  std::string text;
  for (const std::string& sentence : conclusion(runs)) text += (text.empty() ? "" : "\n") + escape_markdown(sentence);
  return text;
}

}  // namespace evener::report
