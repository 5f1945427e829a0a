// The detectors by name: MTCNN, or a network in a file.
#pragma once

#include <filesystem>
#include <string>

#include "engine/engine.h"
#include "task/faces/face_detector.h"
#include "task/faces/face_detector_file.h"
#include "task/faces/mtcnn.h"

namespace evener::task {

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

}  // namespace evener::task
