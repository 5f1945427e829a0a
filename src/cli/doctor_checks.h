// The checks of `evener doctor`: a finding for each device, module, sensor and placement, with its reason and remedy.
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
/// Each module with the version of its library, or why it can't be used.
Section check_modules(const placement::Machine& machine);
/// Every energy sensor with its state, and what would make it readable.
Section check_sensors();
Section check_storage();
/// Typical placements: whether each can be used now, later, or not on this machine.
Section check_placements(const placement::Machine& machine, bool engine_usable);

/// The processor's peak rates, measured, which takes two seconds.
Section check_peaks();

Diagnosis diagnose(const placement::Machine& machine);

}  // namespace evener::cli
