#include "job/quantize/images.h"

#include <filesystem>

#include "data/locations.h"
#include "data/open/open_data.h"
#include "data/picture_listing.h"
#include "job/inference/labelled_data.h"
#include "task/detect/detector.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// Values that are no pictures.
bool is_array_or_random(const std::string& location) {
  return location.starts_with("random:") || location.ends_with(".npy");
}

/// Whether photos that a user names may come with boxes, and in parts.
bool has_parts(const std::string& location) {
  if (location.empty()) return true;  // the run's own
  if (is_array_or_random(location) || location.ends_with(".txt")) return false;
  return location.starts_with("synth:") || (data::are_on_disk(location) && !data::has_pictures_only(location));
}

DetectImages open_for_detector(const QuantizeFlags& flags, const task::InferenceModel& network,
                               const std::string& location, const std::string& part, int threads) {
  DetectFlags detect;
  if (!flags.infer.model.crop->empty()) detect.model.crop.read({*flags.infer.model.crop});
  if (flags.infer.model.interpolation.given()) detect.model.interpolation.read({*flags.infer.model.interpolation});
  if (has_parts(location)) {
    detect.images.data.read({location});
    detect.images.part.read({part});
    if (!flags.data.split->empty()) detect.images.split.read({*flags.data.split});
    if (*flags.data.seed) detect.images.seed.read({std::to_string(**flags.data.seed)});
  } else {
    detect.images.images.read({location});
  }
  return open_photos(detect, network, task::detector_classes(network), threads);
}

DetectImages open(QuantizeFlags& flags, const task::InferenceModel& network, const std::string& location,
                  const std::string& part, int threads) {
  if (task::is_detector(network) && !is_array_or_random(location)) {
    return open_for_detector(flags, network, location, part, threads);
  }
  ImagesFlags& images = flags.infer.images;
  if (!location.empty()) images.images.read({location});
  images.part.read({part});
  images.takes_undivided_whole = true;
  if (!flags.data.split->empty()) images.split.read({*flags.data.split});
  if (*flags.data.seed) images.seed.read({std::to_string(**flags.data.seed)});
  return {open_images(flags.infer, network, threads), nullptr};
}

}  // namespace

QuantizeImages open_quantize_images(QuantizeFlags& flags, const task::InferenceModel& network, bool calibrates,
                                    int threads) {
  const std::string &data = *flags.data.data, &other = *flags.data.calibration_data;
  QuantizeImages images;
  // Nothing is trained here, so images need not be held out.
  images.evaluation = open(flags, network, data, calibrates && other.empty() ? kHeldOut : "", threads);
  if (calibrates && other.empty()) images.calibration = open(flags, network, data, "train", threads);
  if (calibrates && !other.empty()) images.calibration = open(flags, network, other, "all", threads);
  return images;
}

}  // namespace evener::job
