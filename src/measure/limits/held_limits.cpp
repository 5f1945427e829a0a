#include "measure/limits/held_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "measure/limits/cpu_limits.h"
#include "measure/limits/gpu_limits.h"

namespace evener::measure {
namespace {

double in_units(const HardwareLimit& limit, std::uint64_t counts) {
  return static_cast<double>(counts) / limit.facts().counts_per_unit;
}

void refuse_while_another_holds(const std::optional<LimitState>& state) {
  if (!state || owner_of(*state) != LimitOwner::kRuns) return;
  throw Error(fmt::format("another run, process {}, has set limits of frequency or power: wait for its end, or end it",
                          state->process));
}

std::pair<const LimitSet*, const HardwareLimit*> limit_of_id(const std::vector<LimitSet>& sets, const std::string& id) {
  for (const LimitSet& set : sets) {
    for (const auto& limit : set.limits) {
      if (limit->facts().id == id) return {&set, limit.get()};
    }
  }
  return {nullptr, nullptr};
}

/// Puts back what a run that has ended left. A sentence about it; the file keeps the limits that could not be put back.
std::string put_back_after(LimitState state, const LimitStateFile& file, const LimitPlaces& places) {
  const std::vector<LimitSet> sets = find_all_limits(places);
  std::map<std::string, std::vector<std::string>> done;  // devices by what their limits were put back to
  std::string failed;
  std::vector<FormerValue> left;
  for (FormerValue& former : state.former) {
    const auto [set, limit] = limit_of_id(sets, former.id);
    if (limit == nullptr) {
      failed += fmt::format("; {} is not there any more", former.id);
    } else if (const auto problem = limit->set(former.counts)) {
      failed += fmt::format("; {}: {}", problem->text, set->command(former.counts));
      left.push_back(std::move(former));
    } else {
      done[set->what + " to " + limit_value_text(*set, *limit, former.counts)].push_back(limit->facts().device);
    }
  }
  state.former = std::move(left);
  state.former.empty() ? file.remove() : file.write(state);
  const std::string run = fmt::format("a run that was killed (process {}) had set", state.process);
  std::string text = done.empty() ? "" : fmt::format("put back what {}: ", run);
  std::string separator;
  for (const auto& [limit, devices] : done) {
    text += separator + fmt::format("{} ({})", limit, limited_devices_text(devices));
    separator = ", ";
  }
  if (!failed.empty())
    text += fmt::format("{}not all that {} could be put back{}", done.empty() ? "" : "; ", run, failed);
  return text;
}

}  // namespace

std::vector<LimitSet> find_limits(const LimitOptions& options, const LimitPlaces& places) {
  std::vector<LimitSet> sets;
  if (options.frequency_mhz) sets.push_back(find_frequency_limits(places.root, cpu_topology().allowed));
  if (options.power.cpu) sets.push_back(find_package_limits(places.root));
  if (options.power.gpu) sets.push_back(find_gpu_limits(places.nvml, options.gpus));
  return sets;
}

std::vector<LimitSet> find_all_limits(const LimitPlaces& places) {
  std::vector<LimitSet> sets;
  sets.push_back(find_frequency_limits(places.root, std::nullopt));
  sets.push_back(find_package_limits(places.root));
  sets.push_back(find_gpu_limits(places.nvml, std::nullopt));
  return sets;
}

HeldLimits::HeldLimits(const LimitOptions& options, LimitPlaces places)
    : places_(std::move(places)), owner_(::getpid()) {
  if (options.empty()) return;
  find(options);
  if (!places_.others_state.empty()) refuse_while_another_holds(peek_limit_state(places_.others_state));
  set_all();
}

void HeldLimits::find(const LimitOptions& options) {
  sets_ = find_limits(options, places_);
  for (const LimitSet& set : sets_) {
    if (!set.limits.empty()) continue;
    throw Error(fmt::format("{}: {}{}", set.option, set.refusal, set.remedy.empty() ? "" : "; " + set.remedy));
  }
  const std::optional<double> asked[] = {options.frequency_mhz, options.power.cpu, options.power.gpu};
  auto set = sets_.begin();
  for (const std::optional<double>& value : asked) {  // in the order of find_limits()
    if (value) add(*set++, *value);
  }
}

void HeldLimits::add(const LimitSet& set, double asked) {
  for (const auto& limit : set.limits) {
    const LimitFacts& facts = limit->facts();
    const auto counts = static_cast<std::uint64_t>(std::llround(asked * facts.counts_per_unit));
    if (counts < facts.least || (facts.most > 0 && counts > facts.most)) {
      throw UsageError(fmt::format("{}: {:g} {} is out of range: {} takes {}", set.option, asked, set.unit,
                                   facts.device, limit_range_text(set, *limit)));
    }
    held_.push_back({.set = &set, .limit = limit.get(), .asked = counts});
  }
}

void HeldLimits::set_all() {
  const LimitStateFile file(places_.state);
  const std::optional<LimitState> state = file.read();
  refuse_while_another_holds(state);
  if (state && owner_of(*state) == LimitOwner::kEnded) {
    throw Error(
        fmt::format("limits that a run that was killed (process {}) had set hold still; evener doctor says how "
                    "to put them back",
                    state->process));
  }
  std::vector<FormerValue> former;
  for (Held& held : held_) {
    const std::optional<std::uint64_t> now = held.limit->read();
    if (!now) throw Error(fmt::format("{} of {} can't be read", held.set->what, held.limit->facts().device));
    held.former = *now;
    if (held.former != held.asked) former.push_back({held.limit->facts().id, held.former});
  }
  if (!former.empty()) {
    file.write(own_limit_state(std::move(former)));
    changed_ = true;
  }
  try {
    for (Held& held : held_) set_one(held);
  } catch (...) {
    if (restore().empty()) file.remove();
    changed_ = false;
    throw;
  }
}

void HeldLimits::set_one(Held& held) {
  const LimitSet& set = *held.set;
  if (held.former != held.asked) {
    if (const auto problem = held.limit->set(held.asked)) {
      const bool may_help = problem->no_right && ::geteuid() != 0;
      throw Error(fmt::format(
          "{}: {}; {}", set.option, problem->text,
          may_help ? limit_rights_remedy(set, held.asked) : "the firmware, the host or a container forbids it"));
    }
  }
  held.held = held.limit->read().value_or(0);
  if (held.former != held.asked && held.held == held.former) {
    throw Error(fmt::format("{}: {} took {} without an error and still has {}; its driver ignores limits", set.option,
                            held.limit->facts().device, limit_value_text(set, *held.limit, held.asked),
                            limit_value_text(set, *held.limit, held.held)));
  }
}

/// Sets all limits that were changed to their former values. What could not be set.
std::vector<std::string> HeldLimits::restore() const {
  std::vector<std::string> problems;
  for (const Held& held : held_) {
    if (held.former == held.asked || held.limit->read() == held.former) continue;
    if (const auto problem = held.limit->set(held.former)) {
      problems.push_back(fmt::format("{}; put it back by {}", problem->text, held.set->command(held.former)));
    }
  }
  return problems;
}

std::vector<std::string> HeldLimits::put_back() {
  if (::getpid() != owner_ || !std::exchange(changed_, false)) return {};
  std::vector<std::string> problems;
  try {
    const LimitStateFile file(places_.state);
    problems = restore();
    if (problems.empty()) file.remove();
  } catch (const Error& error) {  // nobody else knows the values as long as this process lives
    problems = restore();
    problems.emplace_back(error.what());
  }
  return problems;
}

HeldLimits::~HeldLimits() {
  put_back();
}

std::vector<record::LimitRecord> HeldLimits::records() const {
  std::vector<record::LimitRecord> records;
  for (const Held& held : held_) {
    const record::LimitRecord one{.what = held.set->what,
                                  .devices = {held.limit->facts().device},
                                  .unit = held.set->unit,
                                  .asked = in_units(*held.limit, held.asked),
                                  .held = in_units(*held.limit, held.held),
                                  .former = in_units(*held.limit, held.former)};
    const auto same = std::ranges::find_if(records, [&](const record::LimitRecord& other) {
      return std::tie(other.what, other.held, other.former) == std::tie(one.what, one.held, one.former);
    });
    if (same == records.end()) {
      records.push_back(one);
    } else {
      same->devices.push_back(one.devices.front());
    }
  }
  return records;
}

std::vector<std::string> HeldLimits::notes() const {
  std::vector<std::string> notes;
  for (const record::LimitRecord& limit : records()) {
    const std::string asked = limit.held == limit.asked ? "" : fmt::format("asked: {:g}, ", limit.asked);
    notes.push_back(fmt::format("{} of {}: at most {:g} {} ({}before: {:g})", limit.what,
                                limited_devices_text(limit.devices), limit.held, limit.unit, asked, limit.former));
  }
  return notes;
}

std::vector<record::ValidityReason> HeldLimits::changes() const {
  std::vector<record::ValidityReason> reasons;
  for (const Held& held : held_) {
    const std::optional<std::uint64_t> now = held.limit->read();
    if (now == held.held) continue;
    const std::string name = held.set->what + " of " + held.limit->facts().device;
    const std::string end = now ? "was " + limit_value_text(*held.set, *held.limit, *now) : "could not be read";
    reasons.push_back({"limit",
                       fmt::format("the limit of {} was set to {} and {} at the end", name,
                                   limit_value_text(*held.set, *held.limit, held.held), end),
                       "end what changed it, such as a power daemon or another user's program, and run again"});
  }
  return reasons;
}

std::vector<std::string> put_back_left_limits(const LimitPlaces& places) {
  std::vector<std::string> told;
  if (!places.others_state.empty()) {
    const std::optional<LimitState> others = peek_limit_state(places.others_state);
    if (others && owner_of(*others) == LimitOwner::kEnded) {
      told.push_back(
          fmt::format("limits that a run of root (process {}) had set when it was killed still hold: sudo "
                      "evener doctor puts them back",
                      others->process));
    }
  }
  if (!has_limit_state(places.state)) return told;
  try {
    const LimitStateFile file(places.state);
    std::optional<LimitState> state;
    try {
      state = file.read();
    } catch (const Error& error) {
      file.remove();
      told.push_back(
          fmt::format("what a run had set can't be told any more: {}; evener doctor shows the limits that "
                      "hold now",
                      error.what()));
    }
    if (!state) return told;
    const LimitOwner owner = owner_of(*state);
    if (owner == LimitOwner::kOtherBoot) file.remove();
    if (owner == LimitOwner::kEnded) told.push_back(put_back_after(*state, file, places));
  } catch (const Error& error) {
    told.emplace_back(error.what());
  }
  return told;
}

}  // namespace evener::measure
