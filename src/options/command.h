// What a command of the program is: name, help texts, options, and what it does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure/run/observer.h"
#include "options/measured_command.h"
#include "options/option.h"

namespace evener {

/// A command, or one with sub-commands, of which one has to be given.
struct Command {
  std::string name;     // "train"
  std::string summary;  // one line
  OptionSet options = {};
  std::string footer = {};  // of --help: examples
  std::vector<Command> commands = {};
  /// The first word without a dash and all words after it are passed on as a list, as they belong to another command
  /// (evener sweep).
  bool passes_words_on = false;
  /// The same command as sweeps run it; null: it leaves no record of what it measured.
  MeasuredCommand (*measured)() = nullptr;
  /// Checks before any work whether the options go together and this machine can do what they ask for. Throws errors.
  /// May be empty.
  std::function<void()> check = {};
  /// Called when the given options have their values: sets other options, for which weights may be downloaded. Throws
  /// errors. May be empty.
  std::function<void(measure::Observer& progress)> complete = {};
  /// Runs the command, once the options have their values; owns the options. Returns the exit code (0 done, 3 done but
  /// INVALID). Throws errors.
  std::function<int()> run = {};
};

}  // namespace evener
