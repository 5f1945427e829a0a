// Options from a TOML file: `--config FILE.toml`. Keys are the command's long option names, flat:
//   epochs = 10        lr = 0.05        strict = true        on = "cpu/t4"
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace evener::cli {

/// What a file says, as it would be typed.
struct ConfigValues {
  struct Option {
    const CLI::Option* option;
    std::vector<std::string> words;  // "--lr=0.05", or one "--name=value" for each value of a list
  };
  std::vector<Option> options;
  std::vector<std::string> positionals;  // of the command, in its order
};

/// Reads the file for `command`. Throws UsageError naming file, line and key: an unknown key (with the nearest one),
/// a value of the wrong kind, a table.
ConfigValues read_config(const std::filesystem::path& path, const CLI::App& command);

/// "train" for the sub-command `evener train`; "data info" for a nested one.
std::string command_path(const CLI::App& command);

/// "lr" for --lr,-l; the name of a positional otherwise.
std::string option_key(const CLI::Option& option);

}  // namespace evener::cli
