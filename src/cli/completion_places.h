// The commands and options as the completion scripts of shells need them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"

namespace evener::cli {

/// An option as a shell needs it.
struct Offer {
  std::string name, help;
  std::vector<std::string> values;  // values to offer
  bool takes_value = false, takes_file = false;
};

/// A command with its whole path, such as "data info".
struct Place {
  std::string path, help;
  std::vector<Offer> options;
  std::vector<std::string> words;  // words to offer where no option is: subcommands, or known values
  bool takes_files = false;        // files are offered there, too
  std::vector<std::pair<std::string, std::string>> commands;
};

/// The program itself, with an empty path, and all its commands.
std::vector<Place> places_of(const Command& program);

}  // namespace evener::cli
