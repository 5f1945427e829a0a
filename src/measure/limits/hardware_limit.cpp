#include "measure/limits/hardware_limit.h"

#include <fmt/format.h>

namespace evener::measure {

std::string limit_value_text(const LimitSet& set, const HardwareLimit& limit, std::uint64_t counts) {
  return fmt::format("{:g} {}", static_cast<double>(counts) / limit.facts().counts_per_unit, set.unit);
}

std::string limit_range_text(const LimitSet& set, const HardwareLimit& limit) {
  const LimitFacts& facts = limit.facts();
  const std::string least = limit_value_text(set, limit, facts.least);
  if (facts.most == 0) return fmt::format("from {} on", least);
  return fmt::format("from {} to {}", least, limit_value_text(set, limit, facts.most));
}

std::string limited_devices_text(const std::vector<std::string>& devices) {
  constexpr std::size_t kMostNamed = 4;
  if (devices.size() <= kMostNamed) return fmt::format("{}", fmt::join(devices, ", "));
  const std::vector<std::string> first(devices.begin(), devices.begin() + kMostNamed - 1);
  return fmt::format("{} and {} others", fmt::join(first, ", "), devices.size() - first.size());
}

std::string limit_rights_remedy(const LimitSet& set, std::uint64_t counts) {
  return fmt::format(
      "set it before the run, which then checks it without a right: {}{}; or run as root", set.command(counts),
      set.grant.empty() ? "" : fmt::format(" (or let your group set it, until the next start: {})", set.grant));
}

}  // namespace evener::measure
