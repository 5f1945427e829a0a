// Metrics: figures of a run that carry their name, unit and direction, so that tables, reports and comparisons work for
// every task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/statistics.h"

namespace evener::record {

enum class Better { kHigher, kLower };
const char* better_name(Better better);

/// What a figure is about. Runs are compared by their first speed.
enum class MetricRole { kSpeed, kQuality, kCost };
const char* role_name(MetricRole role);

struct Metric {
  std::string name;   // unique in a record and includes the unit: "images_per_s"; its column in CSV files
  std::string unit;   // "images/s", "s", "bytes", "J"; "share" is 0..1 and shown as percent; "" is a plain number
  std::string title;  // its column's heading in tables: "s/epoch"; empty = shown in CSV files only
  std::string label;  // its name in sentences: "test accuracy"
  Better better = Better::kHigher;
  MetricRole role = MetricRole::kCost;
  std::optional<double> value = {};
  std::vector<double> samples = {};       // of parts of the run; `value` is usually their median; empty = measured once
  std::optional<Interval> interval = {};  // 95 % interval of `value`; absent for too few samples
  std::string over = {};                  // what the samples are: "blocks of 12 steps after the first epoch"
  std::optional<std::int64_t> of_images = {};  // for a share: of how many images
  std::string stands_in_for = {};              // another figure's name: this one is shown only if that one is absent
  std::string reason = {};                     // why `value` is absent; else empty
};

/// A share of `of_images` images (0 to 1) by which results are judged.
Metric quality_share(std::string name, std::string title, std::string label, std::optional<double> value,
                     std::optional<std::int64_t> of_images = {});
/// A plain number.
Metric plain_number(std::string name, std::string title, std::string label, std::optional<double> value);

struct Record;

/// All figures of a record: those with keys of their own in record.json, and those of its `metrics`. Figures that the
/// task can have but this run lacks are included without a value.
std::vector<Metric> metrics_of(const Record& record);

/// The record's energy with its class, and that of the work on an image, where it is known and images were counted:
/// "12.3 J (measured), 45 mJ an image". "" where the energy is not known.
std::string energy_text(const Record& record);

/// The first speed among `metrics`; nullptr if they have none.
const Metric* main_speed(const std::vector<Metric>& metrics);
/// The metric of that name; nullptr if there is none.
const Metric* find_metric(const std::vector<Metric>& metrics, const std::string& name);

/// Adds a figure without a key of its own to a record. It then appears in record.json, tables, CSV files, the page and
/// the conclusion. Throws Error if its name is taken.
void add_metric(Record& record, Metric metric);

/// Describes a median: "the median of 24 blocks of 12 steps after the first epoch", or "a single sample".
std::string median_text(std::size_t samples, const std::string& over);
/// Describes a figure's spread: "the median of 24 blocks of 12 steps after the first epoch; 95 %: 1.2 k to 1.3 k", or
/// the range if there are too few samples for an interval. "" without samples.
std::string spread_text(const Metric& metric);

/// The whole: all images over all seconds of the work, while images_per_s is a median of blocks without the warm-up.
/// What is called faster or slower by the median has to be so by the whole.
constexpr const char* kMedianSpeed = "images_per_s";
constexpr const char* kOverallSpeed = "images_per_s_overall";
constexpr const char* kUnseenByMedians = "some steps last longer than most, which a median doesn't see";
/// A warning if the two speeds differ by more than a tenth, with both speeds and the likely reason; else empty.
std::string speed_note(const Record& record);

/// Compares two figures by their samples. Comparison::ratio is above 1 if `candidate` is better, whatever the
/// direction. Undecided for too few samples.
Comparison compare_speeds(const Metric& baseline, const Metric& candidate);
/// candidate's value / baseline's value, inverted if lower is better, so that above 1 is better. Absent if a value is
/// missing or not positive.
std::optional<double> speed_ratio(const Metric& baseline, const Metric& candidate);

}  // namespace evener::record
