// Whether fake quantisation in LibTorch, with which networks are trained, finds the same classes as OpenVINO's int8
// kernels.
#pragma once

#include <cstddef>
#include <optional>

#include "base/described.h"
#include "data/open/samples.h"
#include "task/inference/inference_model.h"

namespace evener::task {

struct EngineAgreement {
  std::size_t images = 0, same = 0;  // shown to both engines; with the same class in both
  /// The gap between LibTorch's two highest scores, in steps. A step is the most that a score can change where one
  /// input of the last quantised layer is rounded to the next level. Absent where no layer is quantised.
  std::optional<double> widest_gap;  // the largest of the images with different classes; a few steps are a tie within
                                     // rounding
  std::optional<double> usual_gap;   // the median of all images
};

template <typename Visitor>
void describe(Visitor& visitor, Of<EngineAgreement> auto& agreement) {
  visitor.value("images", agreement.images);
  visitor.value("same", agreement.same);
  visitor.value("widest_gap", agreement.widest_gap);
  visitor.value("usual_gap", agreement.usual_gap);
}

/// Runs up to some two thousand samples, fewer for a large network, through the quantised `model` in both engines, in a
/// child process. Absent where an engine is missing here. Throws Error.
std::optional<EngineAgreement> engine_agreement(const InferenceModel& model, const data::Samples& samples, int threads);

}  // namespace evener::task
