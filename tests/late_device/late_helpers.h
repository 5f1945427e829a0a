// What tests on the late device share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "engine/batches_helpers.h"
#include "engine/device_helpers.h"
#include "made_up/card.h"

namespace evener::test {

class LateTest : public testing::Test {
 protected:
  void SetUp() override;

  /// Options for the first made-up GPU.
  static engine::TrainerOptions on_gpu(const engine::TrainerOptions& options = {});
  /// So many steps with the first `count` images.
  static engine::StepReport steps(engine::Trainer& trainer, const OwnedBatch& batch, std::int64_t count, int steps);
  static std::string notes_of(engine::Trainer& trainer);
};

/// Takes the card's memory but for so many bytes, as another program does.
class FullCard {
 public:
  explicit FullCard(std::size_t left_bytes);
  ~FullCard();
  FullCard(const FullCard&) = delete;
  FullCard& operator=(const FullCard&) = delete;

 private:
  void* taken_;
};

}  // namespace evener::test
