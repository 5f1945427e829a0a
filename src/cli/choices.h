// The values that options take: names of a fixed list, splits. A misspelt name gets the nearest one offered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace evener::cli {

/// `name` if it is one of `known`, otherwise a UsageError: "unknown engine 'torhc'; did you mean 'torch'? ...".
const std::string& chosen(const char* what, const std::string& name, const std::vector<std::string>& known);

engine::Loss parse_loss(const std::string& name);
engine::KernelChoice parse_kernels(const std::string& name);
engine::MemoryLayout parse_layout(const std::string& name);

/// "85/2/13" -> {85, 2, 13}: percent for training, validation and, if given, test; together at most 100.
std::vector<double> parse_split(const std::string& text);

}  // namespace evener::cli
