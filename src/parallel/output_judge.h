// What can be said of a network's outputs on the images of an evaluation, beyond sums over samples: a detector's
// precision depends on all images together.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/batch.h"

namespace evener::parallel {

/// Each replica has one, for the samples that it evaluates; what they came to is put together by who asked for them.
class OutputJudge {
 public:
  virtual ~OutputJudge() = default;
  /// Another evaluation begins.
  virtual void begin() = 0;
  /// `outputs`: (count, shape) float32 each, in the order of Network::outputs().
  virtual void add(const data::Batch& batch, const std::vector<HostTensor>& outputs) = 0;
  /// What came of it since begin(), as a message (base/message.h).
  virtual std::string verdict() const = 0;
};

}  // namespace evener::parallel
