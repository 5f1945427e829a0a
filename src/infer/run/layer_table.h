// The times of layers (--profile layers), for people and for the record.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/precision.h"
#include "infer/run/layer_profile.h"
#include "measure/run/observer.h"
#include "record/record.h"

namespace evener::inference {

/// Times the layers by `profile` and adds them to the record; on a CPU it also measures the peak rates, with which each
/// layer gets its efficiency (roofline). Writes the record anew into `folder` (empty = nowhere). To be called after the
/// run, so that its times and energy don't include the profile. Where layers can't be timed, a note says why.
void add_layers(const std::filesystem::path& folder, record::Record& record, measure::Observer& observer,
                const std::function<NetworkProfile()>& profile);

/// A line for each layer, and their sum; "" for a record without layers.
std::string layers_text(const record::Record& record);

}  // namespace evener::inference
