// `evener detect`: finds objects on photos, and measures how well where the boxes are known.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "data/skipped.h"
#include "detect/box_sink.h"
#include "detect/drawing/draw.h"
#include "detect/judge/average_precision.h"
#include "detect/options.h"
#include "detect/photos.h"
#include "infer/session/images.h"
#include "measure/run/metered_run.h"
#include "measure/run/observer.h"
#include "record/record.h"

namespace evener::detection {

struct DetectImages {
  inference::InferImages shown;  // owns the photos as its samples
  const Photos* photos = nullptr;
};

/// Opens the photos that `flags` name. `network`: a detector with these `classes`. Throws UsageError and Error.
DetectImages open_photos(const DetectFlags& flags, const inference::InferenceModel& network,
                         const std::vector<std::string>& classes, int threads);

struct DetectionRun {
  record::Record record;
  std::optional<DetectionQuality> quality;  // where boxes are known
  std::vector<std::string> classes;
  std::filesystem::path folder;                    // empty: none was asked for
  std::size_t answered = 0;                        // photos
  bool was_stopped = false;                        // a camera or a pipe, by the user
  std::vector<std::filesystem::path> videos = {};  // with boxes drawn, of --save
};

/// Finds the boxes, tells them to `observer` in the format that was asked for, and writes the files of the run. `stop`:
/// ends it in good order, as a signal does; null: signals alone. Throws UsageError, Error and Interrupted.
DetectionRun detect(const DetectFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

/// The options of the inference on `plan`, with `threads` threads that read photos; and those of the run, which reads
/// the file `weights`.
inference::InferOptions infer_options(const DetectFlags& flags, const placement::Plan& plan, Precision precision,
                                      int threads);
measure::RunOptions run_options(const DetectFlags& flags, const placement::Plan& plan,
                                const std::filesystem::path& weights);

}  // namespace evener::detection
