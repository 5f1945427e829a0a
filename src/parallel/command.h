// What rank 0 tells all replicas to do next. It decides everything (stops, shares, who takes part); the others obey.
#pragma once

#include <cstdint>
#include <vector>

namespace evener::parallel {

struct Command {
  enum class Kind : std::int64_t {
    kStartEpoch,     // serve the training images in the order of `epoch`
    kStartPart,      // serve the images of one part of the data, for evaluation
    kDivide,         // nothing but what `divides` says
    kTrain,          // one step on the next batch, with `learning_rate`
    kSettle,         // wait for the results of steps that are not known yet
    kEvaluate,       // the next batch
    kSumEvaluation,  // exchange what was found since kStartPart
    kShareState,     // rank 0's parameters and buffers to all; with `with_optimizer` its optimiser's state too
    kSwapAverage,    // exchange the weights with their average
    kSetMembers,     // from now on the replicas with a count of 1 train
    kGatherState,    // of all stages to rank 0: parameters and buffers, or with `with_optimizer` the optimiser's state
    kLoadState,      // all stages take their parameters and buffers from what rank 0 was given
    kReport,         // exchange what the devices were put to
    kFinish,         // the run is over
  };
  Kind kind = Kind::kFinish;
  std::int64_t epoch = 0, step = 0;
  double learning_rate = 0;
  std::int64_t part = 0;            // index of the part to evaluate
  std::int64_t with_optimizer = 0;  // 0 or 1
  /// 1: before anything else, the batch after those already divided begins at sample `begin`. It is made of
  /// micro-batches, one after the other, and of micro-batch m replica r gets counts[m * replicas + r] samples.
  std::int64_t divides = 0;
  std::int64_t begin = 0;
  std::vector<std::int64_t> counts;  // of each replica, or replica and micro-batch; zeros behind them say nothing
};

/// A command as numbers of eight bytes, equally many for every command with up to `counts` counts; and back.
std::vector<std::int64_t> packed(const Command& command, std::size_t counts);
Command unpacked(const std::vector<std::int64_t>& numbers);

}  // namespace evener::parallel
