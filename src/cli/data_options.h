// Options about data that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "data/open_data.h"

namespace evener::cli {

constexpr const char* kDataHelp =
    "Image folder, folder of IDX or CIFAR files, packed file (.safetensors), synth:masks[:N] or synth:digits[:N]";

/// --class NAME=GLOB, as often as wanted.
void add_class_option(CLI::App& command, std::vector<std::string>& classes);

/// Reads "bream=Bream GT/**". Throws UsageError with an example.
std::vector<data::ClassFiles> parse_classes(const std::vector<std::string>& words);

}  // namespace evener::cli
