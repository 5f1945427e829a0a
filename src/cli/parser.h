// The one door to CLI11, whose headers take long to compile: it reads words into options, and prints --help.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace evener::cli {

/// Options that every command has, besides its own.
struct GeneralFlags : job::OptionGroup {
  GeneralFlags() : job::OptionGroup("General") {}

  job::Option<std::string> config{*this, {"--config", "FILE", "TOML file with options, as in: epochs = 10"}, "", {}};
};

/// Reads the words (argv without the program) into the options of the command that they name, which has been found and
/// whose options' names have been checked: throws UsageError for values that can't be read and for words too many.
/// Prints --help or --version, and then throws HelpPrinted.
void read_words(const Command& program, GeneralFlags& general, const std::string& version,
                const std::vector<std::string>& words);

/// What `evener --help` prints.
std::string program_help(const Command& program);

}  // namespace evener::cli
