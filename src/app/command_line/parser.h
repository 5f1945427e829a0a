// Parses words into options and prints --help, by CLI11. Only parser.cpp includes CLI11, whose headers take long to
// compile.
#pragma once

#include <string>
#include <vector>

#include "options/command.h"

namespace evener::app {

/// Options that every command has, besides its own.
struct GeneralFlags : OptionGroup {
  GeneralFlags() : OptionGroup("General") {}

  Option<std::string> config{*this, {"--config", "FILE", "TOML file with options, as in: epochs = 10"}, "", {}};
};

/// Parses the words (argv without the program) into the options of the command that they name. The names of command and
/// options were checked before. Throws UsageError for values that can't be parsed and for words too many. Prints --help
/// or --version, and then throws HelpPrinted.
void read_words(const Command& program, GeneralFlags& general, const std::string& version,
                const std::vector<std::string>& words);

/// The text of `evener --help`.
std::string program_help(const Command& program);

}  // namespace evener::app
