// The whole program but main(), so that a process may run it more than once.
#pragma once

#include "options/command.h"

namespace evener::app {

/// The program with all of its commands, whose options have no values yet.
Command all_commands();

/// Parses, runs the chosen command, and turns errors into one message and an exit code.
int run_command_line(int argc, char** argv);

/// For std::set_terminate: ends the process with a message where an exception can't be caught, as in a thread of a
/// library.
[[noreturn]] void end_at_once();

}  // namespace evener::app
