// Runs the program's commands in the test's own process: what a start of the program proves beside that, run_program()
// (run_program.h) proves for each command in in_process_test.cpp and in the tests that need a process of their own.
#pragma once

#include "support/run_helpers.h"
#include "support/run_program.h"

namespace evener::test {

/// Runs `evener ARGUMENTS...` in this process, and puts back what it may change of it: descriptors, signals, the
/// folder, the environment, CPUs. The timeout of `options` is not looked at. For messages, plans, reports and small
/// work: not for what is ended by signals or limits, what starts itself as another process, and not for ranks that are
/// forked after LibTorch or OpenVINO had threads here. A record that is made here names the test as its command.
ProgramResult run_in_process(const Words& arguments, const ProgramOptions& options = {});

}  // namespace evener::test
