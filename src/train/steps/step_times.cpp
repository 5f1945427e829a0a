#include "train/steps/step_times.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "train/steps/checkpoint.h"

namespace evener::training {
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

std::vector<StepTimes::Step> StepTimes::pass(double seconds, std::int64_t steps) {
  open_s_ += seconds;
  const auto end = given_.begin() + std::min(steps, static_cast<std::int64_t>(given_.size()));
  std::vector<Step> known(given_.begin(), end);
  given_.erase(given_.begin(), end);
  if (known.empty()) return {};
  if (given_.empty()) {
    known.insert(known.begin(), filling_.begin(), filling_.end());
    open_s_ += std::exchange(filling_s_, 0);
    filling_.clear();
    is_idle_ = true;
  } else if (std::exchange(is_idle_, false)) {
    filling_ = std::move(known);
    filling_s_ = std::exchange(open_s_, 0);
    return {};
  }
  share_time(known);
  return known;
}

/// In proportion to their images.
void StepTimes::share_time(std::vector<Step>& steps) {
  std::int64_t images = 0;
  for (const Step& step : steps) images += step.images;
  const double image_s = std::exchange(open_s_, 0) / static_cast<double>(std::max<std::int64_t>(1, images));
  for (Step& step : steps) {
    step.seconds = image_s * static_cast<double>(step.images);
    step.number = steps.front().number;
  }
}

TimeLimit::TimeLimit(double end_by_s, const TrainSetup& setup, std::int64_t batch)
    : end_by_s_(end_by_s),
      val_images_(static_cast<double>(setup.val_images)),
      test_images_(static_cast<double>(setup.test_images)),
      batch_(static_cast<double>(batch)) {}

void TimeLimit::stepped_in(double seconds, std::int64_t steps) {
  train_s_ += seconds;
  steps_ += steps;
}

/// The seconds of one more validation and the test, by those of the last validation; before there was one, by those of
/// the steps, of which the forward pass takes about a third.
double TimeLimit::judging_s() const {
  if (validate_s_ > 0 && val_images_ > 0) return validate_s_ * (1 + test_images_ / val_images_);
  if (steps_ == 0) return 0;
  return (val_images_ + test_images_) * train_s_ / (static_cast<double>(steps_) * batch_) / 3;
}

bool TimeLimit::is_over() const {
  return end_by_s_ > 0 && now_s() + judging_s() > end_by_s_;
}

bool TimeLimit::leaves_none_for_more(const Progress& progress, int epochs) const {
  if (end_by_s_ <= 0 || progress.epochs.empty() || progress.epoch >= epochs) return false;
  const record::EpochRecord& last = progress.epochs.back();
  if (last.head_only) return is_over();
  return (last.share < 1 && steps_ > 0) || now_s() + *last.seconds + judging_s() > end_by_s_;
}

}  // namespace evener::training
