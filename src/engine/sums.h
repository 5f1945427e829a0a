// What a step or an evaluation came to: named sums, each with the number of things that it sums over. Batches and
// replicas add theirs up exactly; means are taken at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evener::engine {

class Sums {
 public:
  struct Entry {
    std::string name;
    double total = 0;
    std::int64_t count = 0;  // of samples, or of whatever else the sum is over
    bool operator==(const Entry&) const = default;
  };

  /// Sums of nothing, under no name: the first ones that are added give the names.
  Sums() = default;
  explicit Sums(std::vector<Entry> entries) : entries_(std::move(entries)) {}
  /// Sums of nothing under these names.
  static Sums zeros(const std::vector<std::string>& names);

  /// Adds sums of the same names in the same order, or of nothing. Throws Error for others.
  Sums& operator+=(const Sums& other);

  const std::vector<Entry>& entries() const { return entries_; }
  /// 0 where nothing was summed up under the name.
  double total(std::string_view name) const;
  std::int64_t count(std::string_view name) const;
  /// The total over the count; absent where nothing was counted.
  std::optional<double> mean(std::string_view name) const;

  /// Values that the sums take as plain numbers, which an all-reduce adds up.
  std::size_t packed_size() const { return 2 * entries_.size(); }
  /// Writes packed_size() values.
  void pack(std::span<double> to) const;
  /// Replaces totals and counts by what pack() wrote, added up; the names stay.
  void unpack(std::span<const double> from);

  bool operator==(const Sums&) const = default;

 private:
  const Entry* find(std::string_view name) const;

  std::vector<Entry> entries_;
};

/// The sums of a criterion of one term over `count` samples: "loss" and "correct".
Sums classification_sums(double loss, std::int64_t correct, std::int64_t count);

}  // namespace evener::engine
