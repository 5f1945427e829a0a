// The face detectors by name: MTCNN, or a network in a file of another program: SCRFD, YuNet or RetinaFace
// (detect/decoders/five_points.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "faces/find/face_detector.h"
#include "faces/find/mtcnn.h"

namespace evener::faces {

/// The size of the images that a network sees.
struct SeenSize {
  std::int64_t width = 0, height = 0;

  bool operator==(const SeenSize&) const = default;
};

struct FaceDetectorFileOptions {
  /// Absent = as the file says, else 640 x 640; YuNet sees photos at their own size, up to 2048 pixels.
  std::optional<SeenSize> size = {};
  std::optional<float> least_score = {};  // absent = what is usual for the family
  int min_size = 0;                       // faces whose shorter side has fewer pixels of the photo are left out
};

/// How a photo lies on a network's image: scaled to `width` x `height` in the upper left corner, black beside it.
struct PhotoOnImage {
  SeenSize image;
  std::int64_t width = 0, height = 0;
};
/// The photo scaled so that it just fits; sizes are rounded as InsightFace does.
PhotoOnImage fitted_into(const SeenSize& image, std::int64_t photo_width, std::int64_t photo_height);
/// The photo at its own size, or made smaller so that no side is longer than `longest`, on an image whose sides are the
/// next multiples of `multiple`.
PhotoOnImage at_own_size(std::int64_t photo_width, std::int64_t photo_height, std::int64_t longest,
                         std::int64_t multiple);

struct DetectorRequest {
  std::string name = "mtcnn";          // or a file (is_foreign_model)
  std::filesystem::path weights = {};  // of MTCNN: a folder, see read_detector_weights
  MtcnnOptions mtcnn = {};
  FaceDetectorFileOptions file = {};
};

/// Throws UsageError for a name that is neither a detector nor a file, naming the nearest.
void check_detector(const std::string& name);

/// Makes `count` detectors. `runner`: the device, threads of all together, and the precision of a network in a file.
/// Throws Error for weights that don't fit, and for a file that is no detector that is known.
FaceDetectors make_face_detectors(engine::Engine& engine, const DetectorRequest& request, engine::RunnerOptions runner,
                                  int count);

}  // namespace evener::faces
