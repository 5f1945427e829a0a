// What each layer took (--profile layers), for people and for the record.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "job/observer.h"
#include "record/record.h"
#include "task/inference/layer_profile.h"

namespace evener::job {

/// Times the layers by `profile`, measures the processor's peaks, and adds both to the record, which is written anew to
/// `folder` (empty = nowhere): the run's own times and energy were taken before. Where layers can't be timed, a note
/// says why.
void add_layers(const std::filesystem::path& folder, record::Record& record, Observer& line,
                const std::function<task::NetworkProfile()>& profile);

/// A line for each layer, and their sum; "" for a record without layers.
std::string layers_text(const record::Record& record);

}  // namespace evener::job
