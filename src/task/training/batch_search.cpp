#include "task/training/batch_search.h"

#include <algorithm>
#include <vector>

#include "data/batch.h"

namespace evener::task {
namespace {

constexpr std::int64_t kFirstTry = 16;
/// The largest batch is found up to this part of itself, because each further halving costs as much as those before.
constexpr std::int64_t kSearchedPart = 32;
/// After so many steps as a warm-up an engine takes as much memory as in all later ones.
constexpr int kSteps = 12;

}  // namespace

std::int64_t largest_that_fits(std::int64_t most, const std::function<bool(std::int64_t)>& fits) {
  std::int64_t good = 0, bad = most + 1;
  for (std::int64_t next = std::min(kFirstTry, most); good < most;) {
    if (!fits(next)) {
      bad = next;
      break;
    }
    good = next;
    next = std::min(most, 2 * next);
  }
  while (bad - good > std::max<std::int64_t>(1, good / kSearchedPart)) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

bool can_train(engine::Engine& engine, const network::Network& network, const engine::TrainerOptions& options,
               const TensorMap& state, std::int64_t images, std::int64_t all) {
  const auto& input = network.input_shape();
  const data::ImageShape shape{input.at(0), input.at(1), input.at(2)};
  const auto count = static_cast<std::size_t>(images);
  const std::vector<std::uint8_t> pixels(options.resident ? 0 : count * shape.bytes(), 0);
  const std::vector<std::int32_t> labels(count, 0);
  const std::vector<std::uint32_t> samples(count, 0);
  const data::Batch batch{images, shape, pixels, data::ClassTargets{labels}, samples, 1};
  try {
    const auto trainer = engine.make_trainer(network, options);
    trainer->load_state(state);
    for (int step = 0; step < kSteps; ++step) trainer->step(batch, 1.0 / static_cast<double>(images), 0);
    trainer->settle();
    trainer->evaluate(batch);
    trainer->end_evaluation();
    // A single image takes little, and batch-norm may know no variance of one.
    if (const std::int64_t rest = all % images; rest > 1) {
      trainer->step(data::part_of(batch, 0, rest), 1.0 / static_cast<double>(rest), 0);
      trainer->settle();
    }
    return true;
  } catch (const engine::OutOfMemory&) {
    return false;
  }
}

}  // namespace evener::task
