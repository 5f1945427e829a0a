// Advice on options of other programs that evener calls by another name.
#pragma once

#include <string>

#include "job/options/option_set.h"

namespace evener::cli {

/// A sentence that says what to use instead of the unknown option `name`, such as "--device"; empty where nothing is
/// known of it. `options`: those of the command.
std::string advice_on(const std::string& name, const job::OptionSet& options);

}  // namespace evener::cli
