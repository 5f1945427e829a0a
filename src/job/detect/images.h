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

/// For each class of the data at `location` the network's number of it; -1 where it has none, which `notes` tell.
/// `known`: names of the network's classes. Throws UsageError where it knows none of them.
std::vector<std::int32_t> label_numbers(const std::vector<std::string>& of_data, const task::InferenceModel& network,
                                        const std::vector<std::string>& known, const std::string& location,
                                        std::vector<std::string>& notes);

}  // namespace evener::job
