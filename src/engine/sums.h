// The results of a step or an evaluation: named sums, each with the number of samples (or anchors) summed over. Sums of
// batches and replicas are added, and means are taken only at the end, so that unequal batches are weighed correctly.
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

  /// Empty sums without names: the first ones that are added give the names.
  Sums() = default;
  explicit Sums(std::vector<Entry> entries) : entries_(std::move(entries)) {}
  /// Sums of 0 over 0 samples under these names.
  static Sums zeros(const std::vector<std::string>& names);

  /// Adds sums that have the same names in the same order, or no names. Throws Error for others.
  Sums& operator+=(const Sums& other);

  const std::vector<Entry>& entries() const { return entries_; }
  /// The sum under this name; 0 where there is none.
  double total(std::string_view name) const;
  std::int64_t count(std::string_view name) const;
  /// The total divided by the count; absent where the count is 0.
  std::optional<double> mean(std::string_view name) const;

  /// The number of values that pack() writes, for an all-reduce over replicas.
  std::size_t packed_size() const { return 2 * entries_.size(); }
  /// Writes packed_size() values.
  void pack(std::span<double> to) const;
  /// Replaces totals and counts by values from pack(), after an all-reduce has added them up; the names stay.
  void unpack(std::span<const double> from);

  bool operator==(const Sums&) const = default;

 private:
  const Entry* find(std::string_view name) const;

  std::vector<Entry> entries_;
};

/// The sums "loss" and "correct" over `count` samples, of a criterion with one term.
Sums classification_sums(double loss, std::int64_t correct, std::int64_t count);

}  // namespace evener::engine
