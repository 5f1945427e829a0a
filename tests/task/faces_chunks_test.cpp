// What photos cost, chunk by chunk.
#include <gmock/gmock.h>

#include "task/faces/photo_room.h"

namespace evener::task {
namespace {

using testing::ElementsAre;

TEST(ChunkMeter, TellsFullChunksAsTheyComeAndTheRestAtTheEnd) {
  std::vector<FacesChunk> told;
  ChunkMeter meter(2, 3, [&](const FacesChunk& chunk) { told.push_back(chunk); });
  for (int i = 0; i < 4; ++i) {
    meter.begin(1);
    meter.end(1, 2);
    EXPECT_EQ(told.size(), i >= 2 ? 1U : 0U);
  }
  meter.begin(0);  // a photo that could not be read
  meter.begin(0);
  meter.end(0, 1);
  meter.finish();
  ASSERT_EQ(told.size(), 3U);
  const auto numbers = [](const FacesChunk& chunk) {
    return std::vector<std::size_t>{static_cast<std::size_t>(chunk.worker), chunk.number, chunk.photos, chunk.faces};
  };
  EXPECT_THAT(numbers(told[0]), ElementsAre(1, 0, 3, 6));
  EXPECT_THAT(numbers(told[1]), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(numbers(told[2]), ElementsAre(1, 1, 1, 2));
  for (const FacesChunk& chunk : told) {
    EXPECT_GE(chunk.seconds, 0);
    EXPECT_GE(chunk.process_cpu_s, 0);
    EXPECT_GT(chunk.rss_bytes, 1U << 20);
  }
  EXPECT_GE(told[2].begin_s, told[0].begin_s);
}

}  // namespace
}  // namespace evener::task
