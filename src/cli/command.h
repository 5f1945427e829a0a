// The commands of the program: each adds its sub-command to the parser and says what to run when it was chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace evener::cli {

/// What the chosen command does; returns the exit code (0 done, 3 done but INVALID). Errors are thrown.
using Action = std::function<int()>;

void add_info(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
void add_data_fetch(CLI::App& data, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_demo(CLI::App& app, Action& action);

}  // namespace evener::cli
