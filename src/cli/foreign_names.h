// What other programs call something that is said in another way here.
#pragma once

#include <string>

#include "job/options/option_set.h"

namespace evener::cli {

/// What to say instead of an option that isn't one of `options`, such as "--device"; empty where nothing is known of
/// it.
std::string advice_on(const std::string& name, const job::OptionSet& options);

}  // namespace evener::cli
