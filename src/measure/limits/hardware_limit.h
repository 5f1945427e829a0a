// A limit of frequency or power that a program can read and set, and those of one kind on this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace evener::measure {

/// What is known of a limit without reading it. A count is the whole number that the kernel or driver takes.
struct LimitFacts {
  std::string id;                     // unique on this machine: "cpufreq/policy0"
  std::string device;                 // "policy0", "gpu 1", "package-0"
  double counts_per_unit = 1;         // of the set's unit: 1000 for a limit in kHz of a set in MHz
  std::uint64_t least = 1, most = 0;  // counts that it takes; most 0: not told
};

/// Why a limit could not be set.
struct LimitProblem {
  std::string text;
  bool no_right = false;  // an administrator may
};

class HardwareLimit {
 public:
  explicit HardwareLimit(LimitFacts facts) : facts_(std::move(facts)) {}
  virtual ~HardwareLimit() = default;
  HardwareLimit(const HardwareLimit&) = delete;
  HardwareLimit& operator=(const HardwareLimit&) = delete;

  const LimitFacts& facts() const { return facts_; }
  /// The present value in counts; absent if it can't be read.
  virtual std::optional<std::uint64_t> read() const = 0;
  /// Nothing: it was set. The hardware may have rounded it, which read() tells.
  virtual std::optional<LimitProblem> set(std::uint64_t counts) const = 0;
  /// Whether this process may set it, as far as that can be known without setting it.
  virtual bool may_set() const = 0;

 private:
  LimitFacts facts_;
};

/// The limits of one kind.
struct LimitSet {
  std::string what;    // "CPU frequency"
  std::string option;  // "--frequency"
  std::string unit;    // "MHz", "W"
  std::vector<std::unique_ptr<HardwareLimit>> limits = {};
  std::string refusal = {}, remedy = {};  // why there are none, and what helps; remedy may be empty
  /// The command by which an administrator sets all of them to so many counts.
  std::function<std::string(std::uint64_t counts)> command = {};
  std::string grant = {};  // the command that gives this user the right to set them; empty: there is none
};

/// "2000 MHz", "from 800 MHz to 3500 MHz".
std::string limit_value_text(const LimitSet& set, const HardwareLimit& limit, std::uint64_t counts);
std::string limit_range_text(const LimitSet& set, const HardwareLimit& limit);
/// "policy0, policy1, policy2 and 61 others".
std::string limited_devices_text(const std::vector<std::string>& devices);
/// What a user does who may not set the limits: sets them to `counts` by an administrator's command, or gets the right.
std::string limit_rights_remedy(const LimitSet& set, std::uint64_t counts);

}  // namespace evener::measure
