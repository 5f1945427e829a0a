#include "report/ranking.h"

#include <fmt/format.h>

#include <algorithm>

#include "record/metric.h"
#include "record/record_kind.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/ways.h"

namespace evener::report {
namespace {

using record::Metric;
using record::Record;
using Group = std::vector<const Run*>;
using Sentences = std::vector<std::string>;

/// A run of the job with the speed by which it is ranked.
struct Ranked {
  const Record* record;
  std::string way;  // "cpu/t2"; sets it apart from the others
  Metric speed;     // has a value
};

/// The runs with a speed, the fastest first.
std::vector<Ranked> ranking(const Group& group) {
  const std::vector<std::string> ways = ways_of(group);
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const std::vector<Metric> metrics = record::metrics_of(group[i]->record);
    const Metric* speed = record::main_speed(metrics);
    if (speed != nullptr && speed->value) ranked.push_back({&group[i]->record, ways[i], *speed});
  }
  std::ranges::stable_sort(
      ranked, [](const Ranked& a, const Ranked& b) { return record::speed_ratio(b.speed, a.speed).value_or(1) > 1; });
  return ranked;
}

/// Whether `a` is faster than `b` beyond the noise within the runs and between them.
bool beats(const Ranked& a, const Ranked& b) {
  const record::Comparison comparison = record::compare_speeds(b.speed, a.speed);
  return comparison.verdict == record::Verdict::kFaster && *comparison.ratio >= 1 + kRunToRunNoise;
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
  return fmt::format("Where {} {} fastest is undecided between {} ({} {}): the noise is larger than the difference",
                     model, kind.does, where, rates, unit);
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

}  // namespace

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

Sentences quality_sentences(const Group& group) {
  Sentences sentences;
  const std::string& model = group.front()->record.model.name;
  const std::vector<Metric> first = record::metrics_of(group.front()->record);
  for (const Metric& metric : first) {
    if (metric.role != record::MetricRole::kQuality || has_value(first, metric.stands_in_for)) continue;
    std::vector<Metric> found;
    for (const Run* run : group) {
      const std::vector<Metric> metrics = record::metrics_of(run->record);
      if (has_value(metrics, metric.name)) found.push_back(*record::find_metric(metrics, metric.name));
    }
    if (found.size() < group.size()) continue;
    const auto [least, most] = std::ranges::minmax_element(found, {}, [](const Metric& one) { return *one.value; });
    const std::string low = figure_text(*least, ""), high = figure_text(*most, "");
    const std::string span = low == high ? low : low + " to " + high;
    const bool counted = metric.unit == "share" && least->of_images.value_or(0) > 0 && most->of_images.value_or(0) > 0;
    if (!counted) {
      sentences.push_back(fmt::format("{} of {} is {}", capital(metric.label), model, span));
    } else if (record::shares_differ(*least->value, *least->of_images, *most->value, *most->of_images)) {
      sentences.push_back(fmt::format("{} of {} differs: {}", capital(metric.label), model, span));
    } else if (*most->value - *least->value <= kEqualShare) {
      sentences.push_back(fmt::format("{} of {} is equal ({})", capital(metric.label), model, span));
    } else {
      sentences.push_back(fmt::format("{} of {} is {}, which {} images can't tell apart", capital(metric.label), model,
                                      span, std::min(*least->of_images, *most->of_images)));
    }
  }
  return sentences;
}

}  // namespace evener::report
