#include "report/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
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

namespace evener::report {
namespace {

using record::Metric;
using record::Record;

/// With one run each, smaller differences in speed are not claimed: the noise within a run doesn't show how much runs
/// differ from each other.
constexpr double kRunToRunNoise = 0.05;

/// Of more runs, a sentence names only the first ones.
constexpr std::size_t kMostNamed = 6;

/// Shares that differ by more are not called equal, even if chance could explain it.
constexpr double kEqualShare = 0.01;

using Group = std::vector<const Run*>;
using Sentences = std::vector<std::string>;

/// A run of the job with the speed by which it is ranked.
struct Ranked {
  const Record* record;
  std::string way;  // "cpu/t2"; sets it apart from the others
  Metric speed;     // has a value
  Metric whole;     // of which the speed is a median; without a value where there is none
};

/// The runs with a speed, the fastest first.
std::vector<Ranked> ranking(const Group& group) {
  const std::vector<std::string> ways = ways_of(group);
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const std::vector<Metric> metrics = record::metrics_of(group[i]->record);
    const Metric* speed = record::main_speed(metrics);
    if (speed == nullptr || !speed->value) continue;
    const Metric* whole =
        speed->name == record::kMedianSpeed ? record::find_metric(metrics, record::kOverallSpeed) : nullptr;
    ranked.push_back({&group[i]->record, ways[i], *speed, whole == nullptr ? Metric() : *whole});
  }
  std::ranges::stable_sort(
      ranked, [](const Ranked& a, const Ranked& b) { return record::speed_ratio(b.speed, a.speed).value_or(1) > 1; });
  return ranked;
}

/// Whether the whole of `a` is faster than that of `b` beyond the noise between runs, as their medians are.
bool whole_beats(const Ranked& a, const Ranked& b) {
  return record::speed_ratio(b.whole, a.whole).value_or(2) >= 1 + kRunToRunNoise;
}

/// Whether `a` is faster than `b` beyond the noise within the runs and between them.
bool beats(const Ranked& a, const Ranked& b) {
  const record::Comparison comparison = record::compare_speeds(b.speed, a.speed);
  return comparison.verdict == record::Verdict::kFaster && *comparison.ratio >= 1 + kRunToRunNoise && whole_beats(a, b);
}

std::string rate_text(const Ranked& run) {
  return number_text(*run.speed.value);
}

std::string ratio_text(const Ranked& run, const Ranked& other) {
  return number_text(record::speed_ratio(other.speed, run.speed).value_or(1)) + "x";
}

/// "cpu/t1, cpu/t2 and 7 more".
std::string ways_of(const std::vector<Ranked>& runs) {
  std::vector<std::string> words;
  for (const Ranked& run : runs) words.push_back(run.way);
  return listed(words, kMostNamed);
}

/// "26.9, 31.2 and 35.0", or the range if there are many; `runs` are sorted.
std::string rates_of(const std::vector<Ranked>& runs) {
  if (runs.size() > kMostNamed) return rate_text(runs.back()) + " to " + rate_text(runs.front());
  std::vector<std::string> words;
  for (const Ranked& run : runs) words.push_back(rate_text(run));
  return listed(words);
}

/// The sentence on the fastest runs if they can't be told apart.
std::string undecided_sentence(const std::vector<Ranked>& leaders) {
  const std::string &model = leaders.front().record->model.name, &unit = leaders.front().speed.unit;
  const auto& kind = record::kind_of(*leaders.front().record);
  const std::string where = ways_of(leaders), rates = rates_of(leaders);
  if (record::speed_ratio(leaders.back().speed, leaders.front().speed).value_or(1) < 1 + kRunToRunNoise) {
    return fmt::format("{} {} about equally fast on {} ({} {}): single runs can't tell them apart", model, kind.did,
                       where, rates, unit);
  }
  const bool is_unseen = std::ranges::any_of(
      leaders, [&](const Ranked& run) { return &run != &leaders.front() && !whole_beats(leaders.front(), run); });
  return fmt::format("Where {} {} fastest is undecided between {} ({} {}): {}", model, kind.does, where, rates, unit,
                     is_unseen
                         ? fmt::format("all images over all seconds don't show it, as {}", record::kUnseenByMedians)
                         : "the noise is larger than the difference");
}

/// The sentences on runs with enough samples; `ranked`: the fastest first.
Sentences ranking_sentences(const std::vector<Ranked>& ranked, const Record& first_run) {
  const Ranked& fastest = ranked.front();
  const auto& kind = record::kind_of(*fastest.record);
  const std::string &model = fastest.record->model.name, &unit = fastest.speed.unit;
  std::vector<Ranked> leaders, others;
  for (const Ranked& run : ranked) (&run == &fastest || !beats(fastest, run) ? leaders : others).push_back(run);
  Sentences sentences;
  if (leaders.size() > 1) sentences.push_back(undecided_sentence(leaders));
  if (others.empty()) return sentences;
  // The baseline is the first run or, if that is among the fastest, the slowest one.
  const auto first = std::ranges::find(others, &first_run, [](const Ranked& run) { return run.record; });
  const Ranked& base = first == others.end() ? others.back() : *first;
  if (leaders.size() == 1) {
    const Ranked& next = others.front();
    std::string text =
        fmt::format("In one run of each, {} {} fastest on {}, with {} {}: {} as fast as on {} ({})", model, kind.did,
                    fastest.way, rate_text(fastest), unit, ratio_text(fastest, base), base.way, rate_text(base));
    if (&next != &base) {
      text += fmt::format(", and {} as fast as on {} ({})", ratio_text(fastest, next), next.way, rate_text(next));
    }
    return {text};
  }
  const bool decided = std::ranges::all_of(leaders, [&](const Ranked& run) { return beats(run, base); });
  std::string ratios = ratio_text(fastest, base);
  if (const std::string least = ratio_text(leaders.back(), base); decided && least != ratios)
    ratios = least + " to " + ratios;
  sentences.push_back(fmt::format("{} {} as fast as on {} ({} {})",
                                  decided ? "That is" : "On " + fastest.way + " it is", ratios, base.way,
                                  rate_text(base), unit));
  return sentences;
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string invalid_text(const Record& record) {
  const bool is_valid = record.validity.valid.value_or(true) || record.validity.reasons.empty();
  if (is_valid || is_told_in_passing(record)) return "";
  std::string rules;
  for (const auto& reason : record.validity.reasons) rules += (rules.empty() ? "" : ", ") + reason.rule;
  return rules;
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

constexpr const char* kUnfinished[] = {"",  // done
                                       "was interrupted after",
                                       "diverged after",
                                       "failed after",
                                       "has not ended yet, and did",
                                       "ended without finishing after"};

std::string single_clause(const Record& record) {
  const auto& kind = record::kind_of(record);
  const std::string amount = kind.amount(record);
  const std::string what =
      fmt::format("{}{} on {}", amount.empty() ? "" : amount + " of ", record.data.location, record.placement.text);
  std::string text =
      record.model.name + " " +
      (record.status == record::Status::kDone ? std::string(kind.did) : name_in(kUnfinished, record.status));
  text += " " + what;
  const std::vector<Metric> metrics = record::metrics_of(record);
  const Metric* speed = record::main_speed(metrics);
  if (record.times.total) text += " in " + duration_text(*record.times.total);
  if (speed != nullptr && speed->value) {
    text += (speed->unit == "s" ? " at a " + speed->label + " of " : " at ") + figure_text(*speed, "");
  }
  return text + reached_clause(metrics);
}

/// Sentences, without full stops, on which run was fastest and by how much. If several can't be told apart, none of
/// them is called fastest.
Sentences speed_sentences(const Group& group) {
  const std::vector<Ranked> all = ranking(group);
  if (all.size() < 2) return {fmt::format("The {} runs can't be compared in speed: it is missing", group.size())};
  std::vector<Ranked> ranked, few, invalid;
  for (const Ranked& run : all) {
    const bool valid = run.record->validity.valid.value_or(true);
    (!valid ? invalid : run.speed.samples.size() < record::kFewestSamples ? few : ranked).push_back(run);
  }
  const std::string& unit = all.front().speed.unit;
  if (ranked.size() < 2) {
    return {fmt::format("Where {} {} fastest stays undecided, {}: {} {} on {}", all.front().record->model.name,
                        record::kind_of(*all.front().record).does,
                        invalid.empty() ? "with too few samples" : "because the times are not to be quoted",
                        rates_of(all), unit, ways_of(all))};
  }
  Sentences sentences = ranking_sentences(ranked, group.front()->record);
  const auto left_out = [&](const std::vector<Ranked>& runs, const char* why) {
    if (runs.empty()) return;
    sentences.push_back(fmt::format("Not compared, {}: {} ({} {})", why, ways_of(runs), rates_of(runs), unit));
  };
  left_out(few, "with too few samples");
  left_out(invalid, "because their times are not to be quoted");
  return sentences;
}

/// A sentence, without full stop, on which run took the least energy, or between which that is undecided; "" where
/// fewer than two have an energy of the same class, or one was disturbed.
std::string energy_sentence(const Group& group) {
  struct Used {
    std::string way;
    double joules = 0, doubt = 0;  // `doubt`: the part of the joules that they may be off by
  };
  std::vector<Used> all;
  const std::vector<std::string> ways = ways_of(group);
  const record::EnergyClass kind = group.front()->record.energy.kind;
  for (std::size_t n = 0; n < group.size(); ++n) {
    const Record& record = group[n]->record;
    if (!record.validity.valid.value_or(true)) return "";
    if (!record.energy.joules || *record.energy.joules <= 0 || record.energy.kind != kind) continue;
    const double joules = *record.energy.joules;
    all.push_back({ways[n], joules, record.energy.uncertainty_joules.value_or(0) / joules});
  }
  if (all.size() < 2) return "";
  std::ranges::sort(all, {}, &Used::joules);
  const Used &least = all[0], &next = all[1];
  const std::string name = record::energy_class_name(kind);
  const double margin = std::max(kRunToRunNoise, least.doubt + next.doubt);
  if (next.joules < least.joules * (1 + margin)) {
    return fmt::format("Which way takes the least energy ({}) is undecided between {} ({}) and {} ({})", name,
                       least.way, record::joules_text(least.joules), next.way, record::joules_text(next.joules));
  }
  return fmt::format("In one run of each the least energy ({}) went into {}, {}: {}x of {} ({})", name, least.way,
                     record::joules_text(least.joules), number_text(least.joules / next.joules), next.way,
                     record::joules_text(next.joules));
}

/// Sentences, without full stops, on whether the runs differ in the figures of quality that all of them have. The two
/// that are told apart were picked among all, so that a difference is claimed at 5 % for all pairs and figures
/// together.
Sentences quality_sentences(const Group& group) {
  Sentences sentences;
  const std::string& model = group.front()->record.model.name;
  const std::vector<std::string> ways = ways_of(group);
  const auto found_of = [&](const std::string& name) {
    std::vector<Metric> found;
    for (const Run* run : group) {
      const std::vector<Metric> metrics = record::metrics_of(run->record);
      if (has_value(metrics, name)) found.push_back(*record::find_metric(metrics, name));
    }
    return found;
  };
  std::vector<Metric> told = record::metrics_of(group.front()->record);
  std::erase_if(told, [&](const Metric& metric) {
    // A figure that stands in for another is told only if that one is missing.
    return metric.role != record::MetricRole::kQuality || found_of(metric.name).size() < group.size() ||
           found_of(metric.stands_in_for).size() == group.size();
  });
  const std::size_t claims = group.size() * (group.size() - 1) / 2 * told.size();
  for (const Metric& metric : told) {
    const std::vector<Metric> found = found_of(metric.name);
    const auto [least, most] = std::ranges::minmax_element(found, {}, [](const Metric& one) { return *one.value; });
    const std::string low = figure_text(*least, ""), high = figure_text(*most, "");
    const std::string span = low == high ? low : low + " to " + high;
    const bool counted = metric.unit == "share" && least->of_images.value_or(0) > 0 && most->of_images.value_or(0) > 0;
    if (!counted) {
      sentences.push_back(fmt::format("{} of {} is {}", capital(metric.label), model, span));
    } else if (record::shares_differ(*least->value, *least->of_images, *most->value, *most->of_images, claims)) {
      const auto way_of = [&](const auto& one) { return ways[static_cast<std::size_t>(one - found.begin())]; };
      sentences.push_back(fmt::format("{} of {} differs: {} on {} to {} on {}", capital(metric.label), model, low,
                                      way_of(least), high, way_of(most)));
    } else if (*most->value - *least->value <= kEqualShare) {
      sentences.push_back(fmt::format("{} of {} is equal ({})", capital(metric.label), model, span));
    } else {
      sentences.push_back(fmt::format("{} of {} is {}, which {} images can't tell apart", capital(metric.label), model,
                                      span, std::min(*least->of_images, *most->of_images)));
    }
  }
  return sentences;
}

Sentences group_sentences(const Group& group) {
  if (group.size() == 1) return {single_clause(group.front()->record)};
  Sentences sentences = speed_sentences(group);
  for (std::string& sentence : quality_sentences(group)) sentences.push_back(std::move(sentence));
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
  std::map<std::string, std::vector<std::string>> names_of_rules;
  for (const Run& run : runs) {
    if (const std::string rules = invalid_text(run.record); !rules.empty()) names_of_rules[rules].push_back(run.name);
  }
  if (names_of_rules.empty()) return "";
  if (runs.size() == 1)
    return fmt::format("Its times are INVALID as a measurement ({})", names_of_rules.begin()->first);
  std::string text;
  for (const auto& [rules, names] : names_of_rules) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", listed(names, kMostNamed), rules);
  }
  return "INVALID as measurements: " + text;
}

}  // namespace

std::vector<std::string> conclusion(std::span<const Run> runs) {
  Sentences sentences;
  for (const std::vector<std::size_t>& job : jobs_of(runs)) {
    Group group;
    for (const std::size_t n : job) group.push_back(&runs[n]);
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
