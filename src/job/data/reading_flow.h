// Reads data through a parallel::Flow, to report what its workers did.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/open/open_data.h"
#include "parallel/flow.h"

namespace evener::job {

/// Changes `options` so that opening the data decodes its files by a flow with options.threads workers, whose report is
/// written into `report` (without steps where there were no files to decode). Both must outlive the opening.
void read_by_flow(data::DataOptions& options, parallel::FlowReport& report);

/// "364 images in 0.5 s, 728 images/s; 2 workers busy 97 %; 7.9 of 8 waiting on average"; "" where nothing was read.
std::string reading_text(const parallel::FlowReport& report);

/// {seconds, images_per_s, queue{capacity, mean_depth, max_depth}, workers[{images, images_per_s, busy_s, wait_s}]}, or
/// null.
nlohmann::ordered_json reading_json(const parallel::FlowReport& report);

}  // namespace evener::job
