#include "measure/others_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/child.h"
#include "measure/sampler_readings.h"

namespace evener::measure {

namespace {

/// One of ten CPUs. From 5 % on, the validity rules (record/validity.h) call times INVALID in the record, but so little
/// isn't worth a message to every user.
constexpr double kMuch = 0.1;

}  // namespace

struct OthersLoad::Start {
  Counters counters;
};

OthersLoad::OthersLoad(std::filesystem::path root)
    : root_(std::move(root)), start_(std::make_unique<Start>(Start{read_counters(root_, live_children())})) {}

OthersLoad::~OthersLoad() = default;

std::optional<double> OthersLoad::share() const {
  const Counters now = read_counters(root_, live_children());
  const Usage usage = usage_between(start_->counters, now);
  if (!usage.others_percent || now.cores.empty()) return std::nullopt;
  const double percent = *usage.others_percent + usage.steal_percent.value_or(0);
  return std::min(1.0, percent / 100 / static_cast<double>(now.cores.size()));
}

std::string others_text(double share) {
  if (share < kMuch) return "";
  return fmt::format(
      "others used {:.0f} % of this machine's CPUs meanwhile: speeds, times and energy are those of a busy "
      "machine, and say little of a quiet one",
      100 * share);
}

}  // namespace evener::measure
