#include "task/step_times.h"

#include <algorithm>
#include <utility>

namespace evener::task {

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

}  // namespace evener::task
