// `evener calibrate`: gives a trained classifier probabilities that hold, and the knowledge of what is unknown to it.
// `evener train` does the same at its end.
#pragma once

#include <filesystem>
#include <string>

#include "base/this_work.h"
#include "data/open/open_data.h"
#include "job/calibrate/calibrate_flags.h"
#include "job/observer.h"
#include "record/calibration.h"
#include "record/record.h"

namespace evener::job {

struct CalibratedNetwork {
  record::CalibrationRecord figures;
  std::filesystem::path file;  // beside the weights
};

/// Sets options that were not given from the .toml file beside the network's file (take_sidecar()). Throws UsageError.
void complete(CalibrateFlags& flags);

/// Calibrates the network, writes the file beside its weights and, where these are a run's, adds the figures to its
/// record. Each file is whole or as before. `flags` must be completed. `stop`: ends it as a signal does; null: signals
/// alone. Throws UsageError, Error and Interrupted; where another process writes to the run's folder, UsageError.
CalibratedNetwork calibrate(const CalibrateFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

/// Calibrates the weights of a training that has just ended, in `folder`, which this process has locked, on the data
/// that it was trained with. Adds figures and a note to `record`, and writes both. What speaks against it becomes a
/// note. The engine runs in a process of its own, where that is possible.
void calibrate_training(const std::filesystem::path& folder, const data::OpenedData& data, double unknown_share,
                        record::Record& record, Observer& observer);

}  // namespace evener::job
