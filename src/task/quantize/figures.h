// What running a network costs and gives: the columns of the table before and after quantisation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "data/open/samples.h"
#include "task/detect/detector.h"
#include "task/inference/infer.h"

namespace evener::task {

struct RunFigures {
  std::int64_t images = 0;  // that were answered
  std::int64_t labelled = 0, correct = 0;
  std::vector<std::int32_t> classes;    // found, of each sample in order; -1 = it could not be read
  std::optional<double> ap_50, ap;      // of a detector: mean average precision, COCO's at 0.5 and of all limits
  std::vector<double> rates;            // images per second of the network alone, of blocks of calls
  std::vector<double> latencies_s;      // of calls with one image, one after the other
  std::uint64_t memory_bytes = 0;       // that the process took more at its peak than before the network was there
  std::optional<double> power_w;        // of the machine while rates were measured
  std::map<std::string, int> executed;  // engine::Runner::executed
  std::size_t unread = 0;               // samples that could not be read, and were left out
  std::string first_unread;             // the first of them, and why
};

template <typename Visitor>
void describe(Visitor& visitor, Of<RunFigures> auto& figures) {
  visitor.value("images", figures.images);
  visitor.value("labelled", figures.labelled);
  visitor.value("correct", figures.correct);
  visitor.value("classes", figures.classes);
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
  InferOptions infer;
  double seconds = 1;              // about, of each speed
  const Photos* photos = nullptr;  // the samples, of a detector whose boxes are known; null = there are none
  DecodeOptions boxes = {};        // of a detector
  JoulesSoFar joules_so_far = {};  // empty = power is not measured
};

/// Shows the samples to the network, and measures its speed. In a child process, so that its memory is its own and no
/// library stays behind. Throws as InferJob does.
RunFigures measure_run(const InferenceModel& model, const data::Samples& samples, const FigureOptions& options);

/// How many layers were computed in 8 bits, and how many altogether, by what `executed` says of convolutions and matrix
/// products.
struct Int8Layers {
  int int8 = 0, all = 0;
};
Int8Layers int8_layers(const std::map<std::string, int>& executed);

}  // namespace evener::task
