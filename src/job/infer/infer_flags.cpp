#include "job/infer/infer_flags.h"

#include "base/error.h"

namespace evener::job {

task::OutputType PredictionFlags::type() const {
  if (*output_type == "prob") return task::OutputType::kProbabilities;
  return *output_type == "logit" ? task::OutputType::kLogits : task::OutputType::kAuto;
}

void PredictionFlags::check_together() const {
  if (*json == "-" && !format->empty() && *format != "none") {
    throw UsageError("--json - and --format " + *format + " would both write to stdout: give one");
  }
  if (*outputs == "raw" && (out->empty() || *watch || !sort->empty() || (!format->empty() && *format != "none"))) {
    throw UsageError(
        "--outputs raw writes files: give --out DIR for them, and leave out --format, --sort and --watch, which are "
        "for classes");
  }
  if (sort->empty() && (sort_by.given() || sort_threshold.given())) {
    throw UsageError("--sort-by and --sort-threshold say how --sort sorts: give --sort DIR, too");
  }
  if (*watch && (!out->empty() || !json->empty() || !features->empty())) {
    throw UsageError(
        "--watch tells and sorts photos as they come, and has no end for a record: leave out --out, --json and "
        "--features");
  }
  if (type() == task::OutputType::kLogits && threshold.given()) {
    throw UsageError("--threshold is a probability, which --output-type logit doesn't give: leave one out");
  }
}

}  // namespace evener::job
