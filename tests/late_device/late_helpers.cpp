#include "late_device/late_helpers.h"

#include "base/built_modules.h"
#include "engine/engine.h"

namespace evener::test {

void LateTest::SetUp() {
  if (!module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  ASSERT_EQ(engine::open_engine("torch")->trainer_refusal(small_mlp(kColour, 5), on_gpu()), "");
}

engine::TrainerOptions LateTest::on_gpu(const engine::TrainerOptions& options) {
  engine::TrainerOptions there = options;
  there.device = {DeviceKind::kCuda, 0};
  return there;
}

engine::StepReport LateTest::steps(engine::Trainer& trainer, const OwnedBatch& batch, std::int64_t count, int steps) {
  engine::StepReport all;
  const auto add = [&](const engine::StepReport& report) {
    all.sums += report.sums;
    all.steps += report.steps;
    all.finite = all.finite && report.finite;
  };
  for (int step = 0; step < steps; ++step) {
    add(trainer.step(batch.view(0, count), 1.0 / static_cast<double>(count), kRate));
  }
  add(trainer.settle());
  return all;
}

std::string LateTest::notes_of(engine::Trainer& trainer) {
  std::string text;
  for (const std::string& note : trainer.capabilities().device->report().notes) text += note + "\n";
  return text;
}

FullCard::FullCard(std::size_t left_bytes) {
  // LibTorch gives back what it keeps for later when it is refused memory.
  engine::MatrixOptions options;
  options.device = {DeviceKind::kCuda, 0};
  options.size = 100'000;
  EXPECT_THROW((void)engine::open_engine("torch")->make_matrix_product(options), engine::OutOfMemory);
  const made_up::MemoryState state = made_up::memory_of(0);
  taken_ = made_up::allocate(0, state.total - state.used - left_bytes);
}
FullCard::~FullCard() {
  made_up::release(taken_);
}

}  // namespace evener::test
