// From argv and --config FILE.toml to a parsed CLI::App, with messages that name the nearest option.
#pragma once

#include <CLI/CLI.hpp>

namespace evener::cli {

/// Thrown after --help or --version was printed.
struct HelpPrinted {};

/// Adds --config to every command that has options, then parses argv; the keys of a `--config FILE.toml` stand in for
/// options not given on the command line. Of an option given twice the last one counts. Throws UsageError with the
/// nearest known name for unknown commands, options and keys, and HelpPrinted.
void parse(CLI::App& app, int argc, char** argv);

}  // namespace evener::cli
