// The commands of the program: each says how it is called, which options it has, and what it does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job/options/option_set.h"

namespace evener::cli {

/// A command, or one with sub-commands, of which one has to be given.
struct Command {
  std::string name;     // "train"
  std::string summary;  // one line
  job::OptionSet options = {};
  std::string footer = {};  // of --help: examples
  std::vector<Command> commands = {};
  /// Its first word without a dash, and all behind it, are those of another command: they are its list of words.
  bool passes_words_on = false;
  /// Looks at what the options demand of this machine, and of each other, before any work. Errors are thrown. May be
  /// empty.
  std::function<void()> check = {};
  /// Called when the given options have their values: gives values to others, from elsewhere. Errors are thrown.
  std::function<void()> complete = {};
  /// Does it, once the options have their values; owns them. Returns the exit code (0 done, 3 done but INVALID). Errors
  /// are thrown.
  std::function<int()> run = {};
};

Command info_command();
Command train_command();
Command infer_command();
Command faces_command();
Command detect_command();
Command matmul_command();
Command plan_command();
Command export_command();
Command serve_command();
Command quantize_command();
Command report_command();
Command share_command();
Command data_command();
Command data_fetch_command();
Command data_info_command();
Command doctor_command();
Command compare_command();
Command demo_command();
Command sweep_command();

}  // namespace evener::cli
