// Scripts that complete commands, options and values in a shell, made from the commands' own descriptions.
#pragma once

#include <string>

#include "cli/command.h"

namespace evener::cli {

/// A script for "bash", "zsh" or "fish". Throws UsageError for another shell.
std::string completion_script(const Command& program, const std::string& shell);

/// `evener completion SHELL`. `program` makes the program's commands, this one among them.
Command completion_command(std::function<Command()> program);

}  // namespace evener::cli
