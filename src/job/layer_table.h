// The times of layers (--profile layers), for people and for the record.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "job/observer.h"
#include "record/record.h"
#include "task/inference/layer_profile.h"

namespace evener::job {

/// Times the layers by `profile`, measures the processor's peak rates, adds both to the record, and writes the record
/// anew into `folder` (empty = nowhere). To be called after the run, so that its times and energy don't include the
/// profile. Where layers can't be timed, a note says why.
void add_layers(const std::filesystem::path& folder, record::Record& record, Observer& line,
                const std::function<task::NetworkProfile()>& profile);

/// A line for each layer, and their sum; "" for a record without layers.
std::string layers_text(const record::Record& record);

}  // namespace evener::job
