#include "task/step_times.h"

#include <algorithm>
#include <numeric>

namespace evener::task {

std::vector<StepTimes::Step> StepTimes::pass(double seconds, std::int64_t steps) {
  open_s_ += seconds;
  const auto count = std::min(steps, static_cast<std::int64_t>(given_.size()));
  if (count == 0) return {};
  const auto end = given_.begin() + count;
  const double image_s =
      open_s_ / static_cast<double>(std::max<std::int64_t>(1, std::accumulate(given_.begin(), end, std::int64_t{0})));
  std::vector<Step> known;
  for (auto images = given_.begin(); images != end; ++images) {
    known.push_back({*images, image_s * static_cast<double>(*images)});
  }
  given_.erase(given_.begin(), end);
  open_s_ = 0;
  return known;
}

}  // namespace evener::task
