// A trained network with 8-bit weights and activations, and what that changes.
#pragma once

#include <filesystem>

#include "base/this_work.h"
#include "job/observer.h"
#include "job/quantize/comparison.h"
#include "job/quantize/quantize_flags.h"
#include "run/metered_run.h"

namespace evener::job {

struct QuantizedRun {
  record::Record record;
  QuantizeComparison comparison;  // before and after
  std::filesystem::path folder;   // of the quantised network
};

/// Gives values to options that were not given, from the file beside the network's. Throws UsageError.
void complete(QuantizeFlags& flags);

/// Calibrates, quantises, and runs both networks. Options have been completed; what depends on the network is filled
/// in. `stop`: ends it in good order, as a signal does; null: signals alone. Throws UsageError, Error and Interrupted.
QuantizedRun quantize(QuantizeFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

/// The run around the quantising of `model`.
run::RunOptions run_options(const QuantizeFlags& flags, const placement::Plan& plan, const task::InferenceModel& model);

}  // namespace evener::job
