// The manual page, made from the commands' own descriptions.
#pragma once

#include <string>

#include "cli/command.h"

namespace evener::cli {

/// The manual page of the program with all its commands, in the language of man(7).
std::string manual_page(const Command& program, const std::string& version);

/// `evener man`. `program` makes the program's commands, this one among them.
Command manual_command(std::function<Command()> program, const std::string& version);

}  // namespace evener::cli
