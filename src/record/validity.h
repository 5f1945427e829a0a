// The rules for a run's times to be VALID, that is fit to be quoted; else the run is INVALID, with the broken rule and
// advice. What it did learn, an accuracy for instance, doesn't depend on them.
#pragma once

#include <optional>
#include <string>

#include "record/record.h"

namespace evener::record {

/// Limits of the rules; docs/measuring.md explains them.
struct ValidityLimits {
  double others_percent = 5;     // other processes' load, in percent of all CPUs together
  double steal_percent = 2;      // time stolen by a virtual machine's host, likewise
  double swap_bytes = 1 << 20;   // swapped-out memory of the process
  double quartile_spread = 0.2;  // (upper - lower quartile) / median of the main speed's samples
};

/// What of a measurement a broken rule spoils; each includes the ones before it.
enum class Spoils {
  kEnergy,       // the energy: it is absent, or two meters contradict each other
  kFigures,      // times, speeds and energies by themselves: they may not be quoted
  kComparisons,  // their ratios to runs that were made side by side, too
};

/// How tables and pages mark a run whose times other programs disturbed.
inline constexpr const char* kBesideOthers = "beside other programs";

/// A rule, what a run that breaks it spoils, and how a page says so in passing.
struct ValidityRule {
  const char* name;
  Spoils spoils;
  const char* in_passing;  // "beside other programs", in place of INVALID; "" where the run is called INVALID
};
/// The rule of that name; for other names one that spoils comparisons.
const ValidityRule& validity_rule(const std::string& name);

/// The most that the broken rules spoil; absent without any.
std::optional<Spoils> spoiled_by(const Validity& validity);
/// Whether other programs, or other virtual machines of the host, took more of the CPUs than the rules allow.
bool is_beside_others(const Validity& validity);
/// The percent of all CPUs together that other programs and the host took; absent if not measured.
std::optional<double> others_load_percent(const Record& record);

/// Judges a finished record by its contents. Keeps the reasons in record.validity that its task has given.
Validity judge(const Record& record, const ValidityLimits& limits = {});

}  // namespace evener::record
