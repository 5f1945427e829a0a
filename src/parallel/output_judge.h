// Evaluates a network's outputs where sums over samples are not enough: a detector's average precision depends on all
// images together.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/batch.h"

namespace evener::parallel {

/// Each replica has a judge of its own for the samples that it evaluates. Whoever asked for the evaluation merges the
/// verdicts.
class OutputJudge {
 public:
  virtual ~OutputJudge() = default;
  /// Starts a new evaluation and forgets the last one.
  virtual void begin() = 0;
  /// `outputs`: (count, shape) float32 each, in the order of Network::outputs().
  virtual void add(const data::Batch& batch, const std::vector<HostTensor>& outputs) = 0;
  /// The result over all batches added since begin(), as a message (base/message.h).
  virtual std::string verdict() const = 0;
};

}  // namespace evener::parallel
