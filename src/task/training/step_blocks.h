// How fast the steps of a training went, in a bounded number of samples however long it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evener::task {

/// Steps in their order, joined into blocks of equally many. A block of a long training is long enough for what comes
/// in bursts to spread over it, so that neighbouring blocks are less alike than neighbouring steps.
class StepBlocks {
 public:
  void add(std::int64_t images, double seconds);

  /// Of each block: 1, 2, 4, ... so that there are no more than 40 blocks, and at least 20 once there were 20 steps.
  std::int64_t steps_per_block() const { return steps_per_block_; }
  /// images/s of each block, without the last one if it isn't complete.
  std::vector<double> rates() const;

 private:
  struct Block {
    double images = 0, seconds = 0;
  };
  void join_pairs();

  std::vector<Block> blocks_;  // complete ones
  Block open_;
  std::int64_t steps_per_block_ = 1, open_steps_ = 0;
};

}  // namespace evener::task
