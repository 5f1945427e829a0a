// What `evener doctor` says about limits of frequency and power: which can be set here, and by whom.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/doctor_checks.h"
#include "measure/limits/held_limits.h"

namespace evener::cli {
namespace {

/// "policy0, policy1: from 800 MHz to 3500 MHz, now 2000 MHz".
std::string ranges_text(const measure::LimitSet& set) {
  std::map<std::string, std::vector<std::string>> devices;  // by what is said of them
  for (const auto& limit : set.limits) {
    const std::optional<std::uint64_t> now = limit->read();
    const std::string text =
        fmt::format("{}, now {}", limit_range_text(set, *limit), now ? limit_value_text(set, *limit, *now) : "unknown");
    devices[text].push_back(limit->facts().device);
  }
  std::string all;
  for (const auto& [text, names] : devices)
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", measure::limited_devices_text(names), text);
  return all;
}

Finding check_limit(const measure::LimitSet& set) {
  if (set.limits.empty()) return {Mark::kMissing, set.option, set.refusal, set.remedy};
  const std::string text = set.what + " of " + ranges_text(set);
  if (std::ranges::all_of(set.limits, [](const auto& limit) { return limit->may_set(); })) {
    return {Mark::kOk, set.option, text, ""};
  }
  const measure::LimitFacts& first = set.limits.front()->facts();
  const std::uint64_t example = first.most > 0 ? first.most : first.least;
  return {Mark::kNote, set.option, text + "; this user may not set it", limit_rights_remedy(set, example)};
}

}  // namespace

Section check_limits() {
  const measure::LimitPlaces places = measure::limit_places();
  Section section{"Limits", {}};
  for (const std::string& text : measure::put_back_left_limits(places)) {
    section.findings.push_back({Mark::kNote, "left limits", text, ""});
  }
  for (const measure::LimitSet& set : measure::find_all_limits(places)) section.findings.push_back(check_limit(set));
  return section;
}

}  // namespace evener::cli
