// The memory of LibTorch's tensors. The allocator is compiled into the test program, which asks LibTorch's core for it.
#include "engine/torch/host_memory.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "base/sanitizer.h"

namespace evener::engine::torch_engine {
namespace {

class HostMemory : public testing::Test {
 protected:
  void SetUp() override {
    use_host_memory();
    before_ = host_memory_bytes();
    begin_peak_of_host_memory();
  }

  static c10::DataPtr block(std::size_t bytes) { return c10::GetCPUAllocator()->allocate(bytes); }

  std::int64_t before_ = 0;
};

TEST_F(HostMemory, BlocksBeginAtCacheLinesAndLieApart) {
  std::vector<c10::DataPtr> blocks;
  std::vector<std::size_t> sizes;
  for (const std::size_t bytes : {1, 15, 63, 64, 65, 4096, (1 << 20) + 1}) {
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(block(bytes));
      sizes.push_back(bytes);
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks[i].get()) % 64, 0U) << sizes[i];
    std::memset(blocks[i].get(), static_cast<int>(i), sizes[i]);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(blocks[i].get());
    EXPECT_EQ(bytes[0], i);
    EXPECT_EQ(bytes[sizes[i] - 1], i);
  }
}

TEST_F(HostMemory, ThePeakOutlivesTheBlocks) {
  c10::DataPtr first = block(1000);
  const c10::DataPtr second = block(500);
  EXPECT_EQ(host_memory_bytes(), before_ + 1500);
  first.clear();
  EXPECT_EQ(host_memory_bytes(), before_ + 500);
  EXPECT_EQ(peak_host_memory_bytes(), before_ + 1500);
  begin_peak_of_host_memory();
  EXPECT_EQ(peak_host_memory_bytes(), before_ + 500);
}

TEST_F(HostMemory, NoBytesAreNoBlock) {
  const c10::DataPtr none = block(0);
  EXPECT_EQ(none.get(), nullptr);
  EXPECT_EQ(peak_host_memory_bytes(), before_);
}

TEST_F(HostMemory, WhatDoesNotFitIsRefused) {
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> sizes = {most, most - 100, most / 2};
  if (!test::is_sanitized()) sizes.push_back(most / 16);
  for (const std::size_t bytes : sizes) EXPECT_THROW(block(bytes), c10::OutOfMemoryError) << bytes;
  EXPECT_EQ(peak_host_memory_bytes(), before_);
}

TEST_F(HostMemory, ThreadsReleaseTheBlocksOfOthers) {
  constexpr std::size_t kThreads = 4, kBlocks = 200;
  std::vector<std::vector<c10::DataPtr>> blocks(kThreads);
  const auto on_threads = [&](const auto& body) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { body(i); });
    for (auto& thread : threads) thread.join();
  };
  on_threads([&](std::size_t i) {
    for (std::size_t b = 0; b < kBlocks; ++b) blocks[i].push_back(block(100));
  });
  EXPECT_EQ(host_memory_bytes(), before_ + static_cast<std::int64_t>(100 * kThreads * kBlocks));
  on_threads([&](std::size_t i) { blocks[(i + 1) % kThreads].clear(); });
  EXPECT_EQ(host_memory_bytes(), before_);
  EXPECT_EQ(peak_host_memory_bytes(), before_ + static_cast<std::int64_t>(100 * kThreads * kBlocks));
}

}  // namespace
}  // namespace evener::engine::torch_engine
