// The commands that leave a record of what they measured: a sweep runs them with many values of their options.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "options/option.h"

namespace evener {

/// The option that says how long a run of a command measures.
struct LengthOption {
  std::string key = {};     // "epochs", "seconds"; empty: there is none, as the images are given
  double usual = 0;         // the value where neither the option nor its default says one
  bool is_whole = false;    // the option takes whole numbers alone
  std::string needed = {};  // the key of the option without which runs have no such length; empty: none is needed
};

/// A command with options that have no values yet.
struct MeasuredCommand {
  std::string name;
  OptionSet options;
  /// Sets options that weren't given, by those that were; owns the options.
  std::function<void()> complete = [] {};
  /// Checks whether this machine can do what the options ask for, before any work.
  std::function<void()> check = [] {};
  LengthOption length = {};
  /// Whether `evener plan`, which predicts the speed of such runs, takes the option; null: nothing predicts it.
  std::function<bool(const std::string& option)> is_planned_by = {};
};

/// Each command by its name, with the function that makes it.
using MeasuredCommands = std::vector<std::pair<std::string, MeasuredCommand (*)()>>;

/// A command of these options, which their complete() completes where there is one.
template <typename Flags>
MeasuredCommand measured_with(const std::shared_ptr<Flags>& flags, std::string name) {
  MeasuredCommand command{.name = std::move(name), .options = flags->options(), .complete = [flags] {}};
  if constexpr (requires { complete(*flags, nullptr); }) command.complete = [flags] { complete(*flags, nullptr); };
  return command;
}

}  // namespace evener
