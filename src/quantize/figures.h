// Measures accuracy, speed, memory and power of a network: a column of the table before and after quantisation; and
// whether fake quantisation in LibTorch, with which networks are trained, finds the same classes as OpenVINO's int8
// kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "data/open/samples.h"
#include "detect/detector.h"
#include "infer/model/inference_model.h"
#include "infer/run/infer.h"

namespace evener::quantization {

struct RunFigures {
  std::int64_t images = 0;  // images with a prediction
  std::int64_t labelled = 0, correct = 0;
  std::vector<std::int32_t> classes;    // the class found on each sample, in order; -1 = it could not be read
  std::vector<double> boxes;            // of a detector, that people would look at: of each the sample, the class, the
                                        // score, x1, y1, x2 and y2
  std::optional<double> ap_50, ap;      // of a detector: COCO's mAP at an IoU of 0.5, and over all IoU limits
  std::vector<double> rates;            // images per second of the network alone, one value for each block of calls
  std::vector<double> latencies_s;      // of calls of one image each, one after the other
  std::uint64_t memory_bytes = 0;       // the process's peak above what it had before the network was loaded
  std::optional<double> power_w;        // of the machine while rates were measured
  std::map<std::string, int> executed;  // engine::Runner::executed
  std::size_t unread = 0;               // samples that could not be read, and were left out
  std::string first_unread;             // the first unread sample, and why it couldn't be read
};

template <typename Visitor>
void describe(Visitor& visitor, Of<RunFigures> auto& figures) {
  visitor.value("images", figures.images);
  visitor.value("labelled", figures.labelled);
  visitor.value("correct", figures.correct);
  visitor.value("classes", figures.classes);
  visitor.value("boxes", figures.boxes);
  visitor.value("ap_50", figures.ap_50);
  visitor.value("ap", figures.ap);
  visitor.value("rates", figures.rates);
  visitor.value("latencies_s", figures.latencies_s);
  visitor.value("memory_bytes", figures.memory_bytes);
  visitor.value("power_w", figures.power_w);
  visitor.value("executed", figures.executed);
  visitor.value("unread", figures.unread);
  visitor.value("first_unread", figures.first_unread);
}

/// Joules that the machine has used since the first call; absent where nothing tells.
using JoulesSoFar = std::function<std::optional<double>()>;

/// What is measured, and with what.
struct FigureOptions {
  inference::InferOptions infer;
  double seconds = 1;                         // how long each speed is measured, about
  const detection::Photos* photos = nullptr;  // the samples where they are photos for a detector; else null
  detection::DecodeOptions boxes = {};        // of a detector
  JoulesSoFar joules_so_far = {};             // empty = power is not measured
};

/// Runs the samples through the network, and measures its speed. In a child process, so that its memory can be told
/// from this process's, and no library stays loaded. Throws as InferJob does.
RunFigures measure_run(const inference::InferenceModel& model, const data::Samples& samples,
                       const FigureOptions& options);

/// COCO's mAP at an IoU of 0.5 of the boxes of `after`, were those of `before` the right ones. Absent where there are
/// none.
std::optional<double> boxes_agree(const RunFigures& before, const RunFigures& after);

/// How many of the convolutions and matrix products in `executed` were computed in 8 bits.
struct Int8Layers {
  int int8 = 0, all = 0;
};
Int8Layers int8_layers(const std::map<std::string, int>& executed);

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
std::optional<EngineAgreement> engine_agreement(const inference::InferenceModel& model, const data::Samples& samples,
                                                int threads);

}  // namespace evener::quantization
