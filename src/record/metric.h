// A figure that a run gives: its name, unit and direction stand with it, so that tables, reports and comparisons need
// to know no task.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/statistics.h"

namespace evener::record {

enum class Better { kHigher, kLower };
/// "higher", "lower".
const char* better_name(Better better);

/// What a figure speaks of. Of the speeds of a run, the first is the one that runs are compared by.
enum class MetricRole { kSpeed, kQuality, kCost };
/// "speed", "quality", "cost".
const char* role_name(MetricRole role);

struct Metric {
  std::string name;   // unique in a record, with its unit: "images_per_s"; the column of the CSV file
  std::string unit;   // "images/s", "s", "bytes", "J"; "share" is 0..1 and shown as percent; "" is a plain number
  std::string title;  // heads its column in a table: "s/epoch"; empty = the figure stands in no table but the CSV file
  std::string label;  // names it in a sentence: "test accuracy"
  Better better = Better::kHigher;
  MetricRole role = MetricRole::kCost;
  std::optional<double> value = {};
  std::vector<double> samples = {};       // of parts of the run, which `value` sums up; empty = it was measured once
  std::optional<Interval> interval = {};  // of 95 %, of `value`; absent for too few samples
  std::string over = {};                  // what the samples are: "blocks of 12 steps after the first epoch"
  std::optional<std::int64_t> of_images = {};  // of a share: of how many images
  std::string stands_in_for = {};              // another figure's name: this one is told only where that one is absent
  std::string reason = {};                     // why `value` is absent; else empty
};

struct Record;

/// All figures of a record: those that have keys of their own in record.json, and those of its `metrics`. Figures that
/// the task could have had are there without a value.
std::vector<Metric> metrics_of(const Record& record);

/// The first speed among `metrics`; nullptr if they have none.
const Metric* main_speed(const std::vector<Metric>& metrics);
/// The metric of that name; nullptr if there is none.
const Metric* find_metric(const std::vector<Metric>& metrics, const std::string& name);

/// Gives a record a figure that has no key of its own: it then stands in record.json, tables, the CSV file, the page
/// and the conclusion. Throws Error if its name is taken.
void add_metric(Record& record, Metric metric);

/// What a figure is the middle of: "the median of 24 blocks of 12 steps after the first epoch", or "a single sample".
std::string median_text(std::size_t samples, const std::string& over);
/// "the median of 24 blocks of 12 steps after the first epoch; 95 %: 1.2 k to 1.3 k", or the range of fewer samples;
/// what is known of a figure's spread, "" for what has no samples.
std::string spread_text(const Metric& metric);

/// How much better `candidate` is than `baseline`: as a ratio above 1 whatever the direction.
/// Comparison::ratio and its interval; undecided where there are too few samples.
Comparison compare_speeds(const Metric& baseline, const Metric& candidate);
/// value / baseline's value, turned round where lower is better; absent where a value is missing or not positive.
std::optional<double> speed_ratio(const Metric& baseline, const Metric& candidate);

}  // namespace evener::record
