// Whether the classes that training with fake quantisation sees, in LibTorch, are those of OpenVINO's int8 kernels.
#pragma once

#include <cstddef>
#include <optional>

#include "base/described.h"
#include "data/open/samples.h"
#include "task/inference/inference_model.h"

namespace evener::task {

struct EngineAgreement {
  std::size_t images = 0, same = 0;  // shown to both; with one class in both
  /// How far apart LibTorch's two highest scores lie, in steps: the most that a score can change by where one value
  /// that the last quantised layer reads is rounded to the next level. Absent where none is quantised.
  std::optional<double> widest_gap;  // of the images with two classes: few steps are a tie within rounding
  std::optional<double> usual_gap;   // the median of all images
};

template <typename Visitor>
void describe(Visitor& visitor, Of<EngineAgreement> auto& agreement) {
  visitor.value("images", agreement.images);
  visitor.value("same", agreement.same);
  visitor.value("widest_gap", agreement.widest_gap);
  visitor.value("usual_gap", agreement.usual_gap);
}

/// Shows up to some two thousand samples, fewer of a large network, to `model`, quantised and with its weights, in both
/// engines, in a child process. Absent where one of them is missing here. Throws Error.
std::optional<EngineAgreement> engine_agreement(const InferenceModel& model, const data::Samples& samples, int threads);

}  // namespace evener::task
