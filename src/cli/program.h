// The whole program but its beginning, which a process may call more than once.
#pragma once

#include "cli/command.h"

namespace evener::cli {

/// The program with all of its commands, whose options have no values yet.
Command all_commands();

/// Parses, runs the chosen command, and turns errors into one message and an exit code.
int run_command_line(int argc, char** argv);

/// For std::set_terminate: what can't be caught, as in a thread of a library, ends the process with a sentence all the
/// same.
[[noreturn]] void end_at_once();

}  // namespace evener::cli
