// The options of `evener train`, for its sub-command and others that prepare a training.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/training.h"

namespace evener::cli {

/// Adds all of them; a command that trains nothing removes those that make no difference to it.
void add_train_options(CLI::App& command, TrainFlags& flags);

}  // namespace evener::cli
