// Limits that are set for the time of a run and put back afterwards: by the run itself, or, if it was killed, by the
// next one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/limits/hardware_limit.h"
#include "measure/limits/limit_options.h"
#include "measure/limits/limit_state.h"
#include "record/record.h"

namespace evener::measure {

/// The kinds of limits that the options ask for, or all kinds.
std::vector<LimitSet> find_limits(const LimitOptions& options, const LimitPlaces& places);
std::vector<LimitSet> find_all_limits(const LimitPlaces& places);

class HeldLimits {
 public:
  /// Sets what the options ask for. A limit that has the value already is only checked, which needs no rights. Throws
  /// UsageError for a value out of the hardware's range, and Error with the remedy where there is nothing to set, where
  /// this user may not, or where another run has set limits: one that goes on, or one after which
  /// put_back_left_limits() failed. All limits are as before then.
  HeldLimits(const LimitOptions& options, LimitPlaces places);
  ~HeldLimits();  // puts them back
  HeldLimits(const HeldLimits&) = delete;
  HeldLimits& operator=(const HeldLimits&) = delete;

  /// Puts the limits back; does nothing in a forked child. Tells what could not be put back, each with the command that
  /// does it; a later run tries that again.
  std::vector<std::string> put_back();

  /// For the record: asked, held, former.
  std::vector<record::LimitRecord> records() const;
  /// One sentence for each kind of limit: "CPU frequency of policy0: 2000 MHz (before: 3500 MHz)".
  std::vector<std::string> notes() const;
  /// Limits whose value is no longer what the hardware told after they were set.
  std::vector<record::ValidityReason> changes() const;

 private:
  struct Held {
    const LimitSet* set;
    const HardwareLimit* limit;
    std::uint64_t asked = 0, held = 0, former = 0;  // counts
  };
  void find(const LimitOptions& options);
  void add(const LimitSet& set, double asked);
  void set_all();
  void set_one(Held& held);
  std::vector<std::string> restore() const;

  const LimitPlaces places_;
  const int owner_;  // the process that has set them
  std::vector<LimitSet> sets_;
  std::vector<Held> held_;
  bool changed_ = false;  // something has to be put back
};

/// Puts back the limits of a run that was killed, if there was one; a sentence about each such run. To be called before
/// a measurement. Never throws.
std::vector<std::string> put_back_left_limits(const LimitPlaces& places);

}  // namespace evener::measure
