#include "task/training/step_blocks.h"

namespace evener::task {
namespace {

constexpr std::size_t kMostBlocks = 40;

}  // namespace

void StepBlocks::add(std::int64_t images, double seconds) {
  open_.images += static_cast<double>(images);
  open_.seconds += seconds;
  if (++open_steps_ < steps_per_block_) return;
  if (blocks_.size() == kMostBlocks) {
    join_pairs();
    return;  // what was a whole block is half of one now
  }
  blocks_.push_back(open_);
  open_ = {};
  open_steps_ = 0;
}

void StepBlocks::join_pairs() {
  for (std::size_t i = 0; i < kMostBlocks / 2; ++i) {
    const Block &a = blocks_[2 * i], &b = blocks_[2 * i + 1];
    blocks_[i] = {a.images + b.images, a.seconds + b.seconds};
  }
  blocks_.resize(kMostBlocks / 2);
  steps_per_block_ *= 2;
}

std::vector<double> StepBlocks::rates() const {
  std::vector<double> rates;
  for (const Block& block : blocks_) {
    if (block.seconds > 0) rates.push_back(block.images / block.seconds);
  }
  return rates;
}

}  // namespace evener::task
