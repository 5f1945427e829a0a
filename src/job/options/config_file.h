// Options from a TOML file: `--config FILE.toml`. Keys are the command's long option names, flat:
//   epochs = 10        lr = 0.05        strict = true        on = "cpu/t4"
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/options/option_set.h"

namespace evener::job {

/// The options in a file, as they would be typed on the command line.
struct ConfigValues {
  struct Words {
    const OptionBase* option;
    std::vector<std::string> words;  // "--lr=0.05", or one "--name=value" for each value of a list
  };
  std::vector<Words> options;
  std::vector<std::string> positionals;  // of the command, in its order
};

/// Reads the file for the command `path` ("train") with these options. Throws UsageError naming file, line and key: an
/// unknown key (with the nearest one), a value of the wrong kind, a table.
ConfigValues read_config(const std::filesystem::path& file, const OptionSet& options, const std::string& path);

}  // namespace evener::job
