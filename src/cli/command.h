// The commands of the program: names, help texts, options, and what they do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job/observer.h"
#include "job/options/option.h"

namespace evener::cli {

/// A command, or one with sub-commands, of which one has to be given.
struct Command {
  std::string name;     // "train"
  std::string summary;  // one line
  job::OptionSet options = {};
  std::string footer = {};  // of --help: examples
  std::vector<Command> commands = {};
  /// The first word without a dash and all words after it are passed on as a list, as they belong to another command
  /// (evener sweep).
  bool passes_words_on = false;
  /// Checks before any work whether the options go together and this machine can do what they ask for. Throws errors.
  /// May be empty.
  std::function<void()> check = {};
  /// Called when the given options have their values: sets other options, for which weights may be downloaded. Throws
  /// errors. May be empty.
  std::function<void(job::Observer& progress)> complete = {};
  /// Runs the command, once the options have their values; owns the options. Returns the exit code (0 done, 3 done but
  /// INVALID). Throws errors.
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
Command calibrate_command();
Command report_command();
Command share_command();
Command data_command();
Command data_fetch_command();
Command data_info_command();
Command data_labels_command();
Command doctor_command();
Command compare_command();
Command history_command();
Command demo_command();
Command sweep_command();
/// `program` makes the program's commands, this one among them.
Command completion_command(std::function<Command()> program);

}  // namespace evener::cli
