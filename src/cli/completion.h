// Scripts that complete commands, options and values in a shell, and the manual page: made from the commands' own
// descriptions.
#pragma once

#include <string>

#include "cli/command.h"

namespace evener::cli {

/// A script for "bash", "zsh" or "fish". Throws UsageError for another shell.
std::string completion_script(const Command& program, const std::string& shell);

/// The manual page of the program with all its commands, in the language of man(7).
std::string manual_page(const Command& program, const std::string& version);

/// `evener completion SHELL` and `evener man`. `program` makes the program's commands, these two among them.
Command completion_command(std::function<Command()> program);
Command manual_command(std::function<Command()> program, const std::string& version);

}  // namespace evener::cli
