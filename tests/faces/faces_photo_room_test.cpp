// Photos that wait until there is room for them.
// What photos cost, chunk by chunk.
#include <gmock/gmock.h>

#include <atomic>
#include <ctime>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/test_folder.h"
#include "faces/photos/photo_room.h"

namespace evener::faces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kPixels = 100 * 100;

class PhotosInARoom : public testing::Test {
 protected:
  /// Grey, of 100 x 100 pixels: decoding takes somewhat more than three times as many bytes.
  std::string photo() const {
    const std::filesystem::path path = folder_ / "photo.pgm";
    std::ofstream(path, std::ios::binary) << "P5\n100 100\n255\n" << std::string(kPixels, 'x');
    return path.string();
  }

  evener::test::TestFolder folder_;
};

TEST_F(PhotosInARoom, BytesAreThoseOfTheFileAndOfAllCopies) {
  EXPECT_EQ(decoding_bytes({3, 10, 20}, 50, false), 50U + 3 * 600);
  EXPECT_EQ(decoding_bytes({1, 10, 20}, 50, true), 50U + 4 * 200);
  EXPECT_EQ(decoding_bytes({3, 10, 20, false, 5}, 50, true), 50U + 6 * 600) << "what a decoder needs is more";
}

TEST_F(PhotosInARoom, ALaterOneWaitsUntilTheFirstHasLeft) {
  PhotoRoom room(5 * kPixels);
  const std::string path = photo();
  std::atomic<bool> entered = false, left = false;
  std::jthread other;
  {
    const PhotoRoom::Entered first = room.enter(path, false);
    EXPECT_EQ(first.file.size(), 15 + kPixels);
    other = std::jthread([&] {
      const PhotoRoom::Entered second = room.enter(path, false);
      EXPECT_TRUE(left);
      entered = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(entered);
    left = true;
  }
  other.join();
  EXPECT_TRUE(entered);
}

TEST_F(PhotosInARoom, WithoutABoundAllEnter) {
  PhotoRoom room;
  const std::string path = photo();
  const auto first = room.enter(path, false), second = room.enter(path, false);
  EXPECT_EQ(first.file, second.file);
}

TEST_F(PhotosInARoom, WhatNeverFitsIsRefusedAndWhatStaysTakesRoom) {
  const auto refusal = [&](PhotoRoom& room) {
    try {
      room.enter(photo(), false);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  PhotoRoom small(2 * kPixels);
  EXPECT_THAT(refusal(small), HasSubstr("--memory leaves 20 kB for photos"));
  PhotoRoom room(5 * kPixels);
  room.keep(2 * kPixels);
  EXPECT_THAT(refusal(room), HasSubstr("--memory leaves 30 kB for photos"));
  room.forget();
  EXPECT_EQ(refusal(room), "");
}

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

TEST(ChunkMeter, EachChunkHasTheTimeOfItsOwnPhotos) {
  constexpr double kWork_s = 0.01;
  const auto cpu_s = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  std::vector<FacesChunk> told;
  ChunkMeter meter(1, 2, [&](const FacesChunk& chunk) { told.push_back(chunk); });
  for (const bool works : {true, true, false, false}) {
    meter.begin(0);
    for (const double begin_s = cpu_s(); works && cpu_s() - begin_s < kWork_s;) continue;
    meter.end(0, 0);
  }
  ASSERT_EQ(told.size(), 2U);
  for (const double seconds : {told[0].cpu_s, told[0].process_cpu_s, told[0].seconds, told[1].begin_s}) {
    EXPECT_GE(seconds, 2 * kWork_s);
  }
  EXPECT_LT(told[1].cpu_s, kWork_s) << "what the chunk before took is not counted again";
}

}  // namespace

}  // namespace evener::faces
