#include "engine/sums.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace evener::engine {

Sums Sums::zeros(const std::vector<std::string>& names) {
  std::vector<Entry> entries;
  for (const auto& name : names) entries.push_back({name, 0, 0});
  return Sums(std::move(entries));
}

Sums& Sums::operator+=(const Sums& other) {
  if (other.entries_.empty()) return *this;
  if (entries_.empty()) return *this = other;
  const bool alike = std::ranges::equal(entries_, other.entries_, {}, &Entry::name, &Entry::name);
  if (!alike) throw Error("sums of other names can't be added: those of two different criteria");
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].total += other.entries_[i].total;
    entries_[i].count += other.entries_[i].count;
  }
  return *this;
}

const Sums::Entry* Sums::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : &*found;
}

double Sums::total(std::string_view name) const {
  const Entry* entry = find(name);
  return entry != nullptr ? entry->total : 0;
}

std::int64_t Sums::count(std::string_view name) const {
  const Entry* entry = find(name);
  return entry != nullptr ? entry->count : 0;
}

std::optional<double> Sums::mean(std::string_view name) const {
  const Entry* entry = find(name);
  if (entry == nullptr || entry->count == 0) return std::nullopt;
  return entry->total / static_cast<double>(entry->count);
}

void Sums::pack(std::span<double> to) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    to[2 * i] = entries_[i].total;
    to[2 * i + 1] = static_cast<double>(entries_[i].count);
  }
}

void Sums::unpack(std::span<const double> from) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].total = from[2 * i];
    entries_[i].count = std::llround(from[2 * i + 1]);
  }
}

Sums classification_sums(double loss, std::int64_t correct, std::int64_t count) {
  return Sums(std::vector<Sums::Entry>{{"loss", loss, count}, {"correct", static_cast<double>(correct), count}});
}

}  // namespace evener::engine
