// What `evener doctor` looks at: one finding per device, module, sensor and placement, each with its reason and remedy.
#pragma once

#include <string>
#include <vector>

#include "placement/machine.h"

namespace evener::cli {

enum class Mark { kOk, kNote, kMissing };
const char* mark_name(Mark mark);

struct Finding {
  Mark mark = Mark::kOk;
  std::string name;    // "torch"
  std::string text;    // what it is, or why it isn't
  std::string remedy;  // what to do; may be empty
};

struct Section {
  std::string title;
  std::vector<Finding> findings;
};

struct Diagnosis {
  std::vector<Section> sections;
  bool can_train_on_cpu = false;
  std::string conclusion;
};

Section check_devices(const placement::Machine& machine);
/// Modules with the version of the library behind them, or one of the three refusals.
Section check_modules(const placement::Machine& machine);
/// Every sensor of energy with its state, and what would make it readable.
Section check_sensors();
Section check_storage();
/// Typical placements: usable now, not yet, or refused here.
Section check_placements(const placement::Machine& machine, bool engine_usable);

/// What the processor can do at most (measured, which takes two seconds).
Section check_peaks();

Diagnosis diagnose(const placement::Machine& machine);

}  // namespace evener::cli
