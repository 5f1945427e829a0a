// Sets options from argv and --config FILE.toml, with error messages that name the nearest option.
#pragma once

#include "options/command.h"

namespace evener::app {

/// Thrown after --help or --version was printed, to end the program.
struct HelpPrinted {};

/// Gives the options of the chosen command the values in argv; the keys of a `--config FILE.toml`, which every command
/// with options takes, stand in for options not given there. Returns the chosen command, a part of `program`; `program`
/// itself where none was chosen. Throws UsageError with the nearest known name for unknown commands, options and keys,
/// and for values that are no good; HelpPrinted.
const Command& parse(const Command& program, const std::string& version, int argc, char** argv);

}  // namespace evener::app
