// train --dry-run: what a run would be, found out without training.
#pragma once

#include <string>
#include <vector>

#include "cli/options/train_flags.h"

namespace evener::cli {

/// The plan of the placement, on each of `hosts` if there are any, and what the network, the data, the weights and the
/// engine come to. Images are listed and not decoded. Throws what a run would throw before its first step.
std::string dry_run_text(const TrainFlags& flags, const std::vector<std::string>& hosts);

}  // namespace evener::cli
