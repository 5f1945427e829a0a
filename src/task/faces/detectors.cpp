#include "task/faces/detectors.h"

#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "task/inference/inference_model.h"

namespace evener::task {

void check_detector(const std::string& name) {
  if (name == "mtcnn" || is_foreign_model(name)) return;
  throw UsageError(unknown_name_message("detector", name, {"mtcnn", "FILE.onnx"}));
}

FaceDetectors make_face_detectors(engine::Engine& engine, const DetectorRequest& request, engine::RunnerOptions runner,
                                  int count) {
  check_detector(request.name);
  if (is_foreign_model(request.name)) return open_detector_file(engine, request.name, request.file, runner, count);
  runner.precision = Precision::kFp32;
  return {Mtcnn::make(engine, read_detector_weights(request.weights), request.mtcnn, std::move(runner), count)};
}

}  // namespace evener::task
