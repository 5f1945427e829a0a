// The values of options about where a command computes, for all commands that have such options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options/option.h"
#include "placement/plan.h"

namespace evener {

/// --cut of the commands that compute in stages.
Option<std::string> cut_option(OptionGroup& group);
/// The layers that --cut names: two for "layer2,layer4", none for "auto".
std::vector<std::string> cut_layers(const std::string& text);
/// The plan of placement `on` on this host. For "auto", which is decided by measuring, that of "cpu". Throws
/// UsageError.
placement::Plan plan_on(const std::string& on, placement::PlanOptions options);
/// The value of --memory, which is in megabytes, in bytes.
std::int64_t memory_bytes(double megabytes);

}  // namespace evener
