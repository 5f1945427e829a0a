// `evener calibrate`: gives a trained classifier probabilities that hold, and the knowledge of what is unknown to it.
// `evener train` does the same at its end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "data/locations.h"
#include "data/open/open_data.h"
#include "infer/calibrate/options.h"
#include "infer/session/options.h"
#include "measure/run/observer.h"
#include "record/calibration.h"
#include "record/record.h"

namespace evener::inference {

/// The images that calibrate, and that judge what came of it.
struct CalibrateDataFlags : UnknownFlags {
  Option<std::string> data{*this, "--data DATA", OptionRules{.joint = data::kLocationJoint},
                           "Labelled images, as train takes them: the validation part calibrates, the test part "
                           "judges, and of the training part features are kept (default: the data of the run)"};
  Option<std::vector<std::string>> unlike{
      *this, "--unlike DIR", "Pictures of other things: how many of them are called unknown is told; may be repeated"};
  Option<std::int64_t> images{*this, "--images N", 10000, within(from_to(30, 1000000)), "Most images of each part"};
  Option<std::string> split{*this, "--split TRAIN/VALIDATION/TEST",
                            "Percent, of data that comes undivided (default: as the run's)"};
  Option<std::optional<std::int64_t>> seed{*this, "--seed N", within(zero_or_more()),
                                           "Of the split (default: the run's)"};
};

struct CalibrateOutputFlags : OptionGroup {
  CalibrateOutputFlags() : OptionGroup("Output") {}

  Option<std::string> json{*this, "--json FILE", rules().not_recorded(), "Write the figures there too; - is stdout"};
  Option<bool> quiet{*this, "--quiet", rules().not_recorded(), "No progress"};
};

struct CalibrateFlags {
  InferModelFlags model;
  CalibrateDataFlags data;
  InferPlacementFlags placement;
  CalibrateOutputFlags output;

  OptionSet options();
};

struct CalibratedNetwork {
  record::CalibrationRecord figures;
  std::filesystem::path file;  // beside the weights
};

/// See complete(InferModelFlags&, Observer*).
void complete(CalibrateFlags& flags, measure::Observer* observer);

/// Calibrates the network, writes the file beside its weights and, where these are a run's, adds the figures to its
/// record. Each file is whole or as before. `flags` must be completed. `stop`: ends it as a signal does; null: signals
/// alone. Throws UsageError, Error and Interrupted; where another process writes to the run's folder, UsageError.
CalibratedNetwork calibrate(const CalibrateFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

/// Calibrates the `network` in a run's folder on its data, of which `classes` are the network's numbers, or none where
/// they are the same. Writes both files into the folder, adds figures and notes to `record`, and tells them. The engine
/// runs in a process of its own, where that is possible. Throws Error and Interrupted.
void calibrate_run(const InferenceRequest& network, const data::OpenedData& data,
                   const std::vector<std::int32_t>& classes, double unknown_share, record::Record& record,
                   measure::Observer& observer);

/// The same for a training that has just ended, in `folder`, which this process has locked, on the data that it was
/// trained with, divided by `seed`; writes the record. What speaks against it becomes a note.
void calibrate_training(const std::filesystem::path& folder, const data::OpenedData& data, std::uint64_t seed,
                        double unknown_share, record::Record& record, measure::Observer& observer);

}  // namespace evener::inference
