#include "report/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/names.h"
#include "report/figures.h"
#include "report/format.h"

namespace evener::report {
namespace {

using measure::Record;
using Group = std::vector<const Record*>;

/// One run each can't tell apart speeds that differ less: epochs of one run don't show how much runs differ.
constexpr double kRunToRunNoise = 0.03;
/// Accuracies further apart are not called equal, even where chance could explain them.
constexpr double kEqualAccuracy = 0.01;

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
std::string option_text(const std::string& name, const nlohmann::json& value) {
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
  for (const auto& [name, value] : record.config.items()) {
    if (left_out.contains(name) || shown == kMostShown) continue;
    if (const auto of_other = other.config.find(name); of_other == other.config.end() || *of_other == value) continue;
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

std::string images_per_s_text(const Record& record) {
  return record.images_per_s.median ? number_text(*record.images_per_s.median) : "an unknown number of";
}

std::string invalid_text(const Record& record) {
  if (record.validity.valid.value_or(true) || record.validity.reasons.empty()) return "";
  std::string rules;
  for (const auto& reason : record.validity.reasons) rules += (rules.empty() ? "" : ", ") + reason.rule;
  return rules;
}

/// Which accuracy can be compared: both runs' test, else both runs' best validation.
struct ComparedAccuracy {
  const char* name;
  double first, second;
  std::int64_t first_count, second_count;
};
std::optional<ComparedAccuracy> compared_accuracy(const Record& a, const Record& b) {
  if (a.accuracy.test && b.accuracy.test) {
    return ComparedAccuracy{"test", *a.accuracy.test, *b.accuracy.test, a.data.test.value_or(0),
                            b.data.test.value_or(0)};
  }
  const std::optional<double> val_a = best_val_accuracy(a), val_b = best_val_accuracy(b);
  if (!val_a || !val_b) return std::nullopt;
  return ComparedAccuracy{"validation", *val_a, *val_b, a.data.val.value_or(0), b.data.val.value_or(0)};
}

std::string accuracy_clause(const Record& a, const Record& b) {
  const std::optional<ComparedAccuracy> both = compared_accuracy(a, b);
  if (!both) return "";
  const std::string first = percent_text(both->first), second = percent_text(both->second);
  if (both->first_count == 0 || both->second_count == 0) {
    return fmt::format(", with {} accuracies of {} and {}", both->name, first, second);
  }
  if (measure::shares_differ(both->first, both->first_count, both->second, both->second_count)) {
    return fmt::format(", at {} {} accuracy ({} against {})", both->first > both->second ? "higher" : "lower",
                       both->name, first, second);
  }
  if (std::abs(both->first - both->second) <= kEqualAccuracy) {
    return first == second ? fmt::format(", at equal {} accuracy ({})", both->name, first)
                           : fmt::format(", at equal {} accuracy ({} and {})", both->name, first, second);
  }
  return fmt::format(", with {} accuracies ({} and {}) that {} images can't tell apart", both->name, first, second,
                     std::min(both->first_count, both->second_count));
}

/// "resnet34 on cpu/t2 trains 1.85x as fast as on cpu/t1 (26.9 against 14.5 images/s)".
std::string speed_clause(const Record& record, const Record& base, const std::string& prefix) {
  const measure::Comparison comparison = measure::compare_rates(base.images_per_s.samples, record.images_per_s.samples);
  const std::string way = way_text(record, base);
  const std::string base_way =
      way_text(base, record) == way ? "in another run of the same" : "on " + way_text(base, record);
  if (!record.images_per_s.median || !base.images_per_s.median) {
    return fmt::format("{} on {} and {} can't be compared in speed: images/s is missing", record.model.name, way,
                       base_way);
  }
  const double ratio = *record.images_per_s.median / *base.images_per_s.median;
  const std::string rates = fmt::format("{} against {} images/s", images_per_s_text(record), images_per_s_text(base));
  if (!comparison.interval) {
    return fmt::format("{} on {} trained {}x as fast as {} ({}), but this stays undecided: too few samples",
                       record.model.name, way, number_text(ratio), base_way, rates);
  }
  if (comparison.verdict == measure::Verdict::kUndecided) {
    return fmt::format("whether {} trains faster on {} or {} is undecided ({}; 95 % interval of the ratio {} to {})",
                       record.model.name, way, base_way, rates, number_text(comparison.interval->low),
                       number_text(comparison.interval->high));
  }
  if (std::abs(ratio - 1) < kRunToRunNoise) {
    return fmt::format("{} trains about as fast on {} as {} ({})", record.model.name, way, base_way, rates);
  }
  return fmt::format("{}{} on {} trains {}x as fast as {} ({})", prefix, record.model.name, way, number_text(ratio),
                     base_way, rates);
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

std::string single_clause(const Record& record) {
  const std::size_t count = record.epochs.size();
  const std::string epochs = fmt::format("{} epoch{}", count, count == 1 ? "" : "s");
  const std::string what = fmt::format("{} of {} on {}", epochs, record.data.location, record.placement.text);
  std::string text = record.model.name;
  switch (record.status) {
    case measure::Status::kInterrupted:
      text += " was interrupted after " + what;
      break;
    case measure::Status::kDiverged:
      text += " diverged after " + what;
      break;
    case measure::Status::kDone:
      text += " trained " + what;
      break;
  }
  if (record.times.total) text += " in " + duration_text(*record.times.total);
  if (record.images_per_s.median) text += fmt::format(" at {} images/s", images_per_s_text(record));
  if (record.accuracy.test) {
    text += fmt::format(" and reached {} test accuracy", percent_text(*record.accuracy.test));
  } else if (const std::optional<double> val = best_val_accuracy(record)) {
    text += fmt::format(" and reached {} validation accuracy", percent_text(*val));
  }
  const std::string rules = invalid_text(record);
  return rules.empty() ? text : text + fmt::format("; but its times are INVALID as a measurement ({})", rules);
}

std::string group_clause(const Group& group) {
  if (group.size() == 1) return single_clause(*group.front());
  const Record* base = group.front();
  Group by_speed = group;
  std::stable_sort(by_speed.begin(), by_speed.end(), [](const Record* a, const Record* b) {
    return a->images_per_s.median.value_or(-1) > b->images_per_s.median.value_or(-1);
  });
  const Record* shown = group.size() == 2 ? group[1] : by_speed.front();
  std::string prefix;
  if (group.size() > 2) {
    if (shown == base) base = by_speed[1];  // the first is the fastest: against the next
    prefix = fmt::format("fastest of {} runs, ", group.size());
  }
  return speed_clause(*shown, *base, prefix) + accuracy_clause(*shown, *base) + invalid_clause({shown, base});
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
