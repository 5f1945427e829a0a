// --profile, which several commands have.
#pragma once

#include "job/options/option.h"

namespace evener::job {

inline OptionWords profile_words() {
  return {"--profile", "WHAT", "layers: when the work is done, time each layer in a pass of its own (docs/profile.md)"};
}
inline OptionRules profile_rules() {
  return {
      .one_of = {"", "layers"}, .suggestions = {"layers"}, .recorded = false, .in_plans = false, .inherited = false};
}

/// Of a command that has no other options about measuring.
struct ProfileFlags : OptionGroup {
  ProfileFlags() : OptionGroup("Measuring") {}

  Option<std::string> profile{*this, profile_words(), "", profile_rules()};
};

}  // namespace evener::job
