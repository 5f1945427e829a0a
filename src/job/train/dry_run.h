// train --dry-run: what a run would be, found out without training.
#pragma once

#include <string>

#include "job/train/train_flags.h"

namespace evener::job {

/// The plan of the placement, on each host if there are several, and what the network, the data, the weights and the
/// engine come to. Images are listed and not decoded. Throws what a run would throw before its first step.
std::string dry_run_text(const TrainFlags& flags);

}  // namespace evener::job
