// What rank 0 tells all replicas to do next. It decides everything (stops, shares, who takes part); the others obey.
#pragma once

#include <cstdint>
#include <vector>

namespace evener::parallel {

struct Command {
  enum class Kind : std::int64_t {
    kStartEpoch,     // serve the training images in the order of `epoch`
    kStartPart,      // serve the images of one part of the data, for evaluation
    kDivide,         // no action besides the division that `divides` announces
    kTrain,          // one step on the next batch, with `learning_rate`
    kSettle,         // wait for the results of steps that a device has not reported yet
    kEvaluate,       // evaluate the next batch
    kSumEvaluation,  // add up losses, confusions and verdicts since kStartPart over all ranks
    kShareState,     // rank 0 broadcasts its parameters and buffers; with `with_optimizer` also the optimiser's state
    kSwapAverage,    // swap the weights with their running average
    kSetMembers,     // from now on the replicas with a count of 1 train
    kGatherState,    // all stages send rank 0 their parameters and buffers, or with `with_optimizer` the optimiser's
                     // state
    kLoadState,  // all stages take their parameters and buffers from the state that Replica::give_state() gave rank 0
    kReport,     // gather the devices' reports
    kFinish,     // the run is over
  };
  Kind kind = Kind::kFinish;
  std::int64_t epoch = 0, step = 0;
  double learning_rate = 0;
  std::int64_t part = 0;            // index of the part to evaluate
  std::int64_t with_optimizer = 0;  // 0 or 1
  /// 1: the command also says how the first batch that isn't divided yet is shared out; replicas note this before they
  /// do anything else. The batch begins at sample `begin` and consists of consecutive micro-batches; replica r gets
  /// counts[m * replicas + r] samples of micro-batch m.
  std::int64_t divides = 0;
  std::int64_t begin = 0;
  std::vector<std::int64_t> counts;  // see `divides`; with kSetMembers 1 or 0 for each rank; padded with zeros
};

/// Turns a command into 8-byte numbers and back. The message has the same length for every command of up to `counts`
/// counts, so that a broadcast's receivers know it beforehand.
std::vector<std::int64_t> packed(const Command& command, std::size_t counts);
Command unpacked(const std::vector<std::int64_t>& numbers);

}  // namespace evener::parallel
