// How fast the steps of a training went, in a bounded number of samples however long it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evener::task {

/// Joins consecutive steps into blocks of the same number of steps. In a long training a block is longer than most
/// bursts of slow steps, so that neighbouring blocks are less correlated than neighbouring steps.
class StepBlocks {
 public:
  void add(std::int64_t images, double seconds);

  /// 1, 2, 4, ...: doubled so that there are never more than 40 blocks, and at least 20 after the first 20 steps.
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
