// Opens the photos that a user names, for a detector.
#pragma once

#include "job/detect/detect_flags.h"
#include "job/inference/images.h"
#include "task/detect/photos.h"

namespace evener::job {

struct DetectImages {
  InferImages shown;  // owns the photos as its samples
  const task::Photos* photos = nullptr;
};

/// Opens the photos that `flags` name. `network`: a detector with these `classes`. Throws UsageError and Error.
DetectImages open_photos(const DetectFlags& flags, const task::InferenceModel& network,
                         const std::vector<std::string>& classes, int threads);

}  // namespace evener::job
