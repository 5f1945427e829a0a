// A sweep as its words ask for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/commands.h"
#include "base/error.h"
#include "measure/run/observer.h"
#include "sweep/options.h"

namespace evener::test {

using PlanWords = std::vector<std::string>;

/// Its options, completed.
struct AskedSweep {
  explicit AskedSweep(const PlanWords& words) {
    flags.what.read(words);
    complete(flags, app::measured_commands());
  }
  const sweeps::SweepPlan& plan() const { return flags.plan; }
  std::vector<record::SweepCell> cells() const { return sweeps::cells_of(flags.plan); }

  sweeps::SweepFlags flags;
};

/// What was wrong with it; "it was taken" if nothing was.
inline std::string plan_refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "it was taken";
}

/// Keeps the notes that it is told.
class Notes : public measure::Observer {
 public:
  void note(const std::string& text) override { texts.push_back(text); }
  std::vector<std::string> texts;
};

}  // namespace evener::test
