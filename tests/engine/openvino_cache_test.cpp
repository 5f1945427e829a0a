// The openvino engine keeps what it compiled on disk.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "base/module.h"
#include "base/test_folder.h"
#include "engine/engine.h"
#include "network/init.h"
#include "network/zoo.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

class OpenVinoCache : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the openvino engine is not built";
  }

  /// The answer to one image by the network with weights of this seed.
  TensorMap answer(std::uint64_t seed) const {
    engine::RunnerOptions options;
    options.cache = folder_.path();
    const auto runner =
        engine::open_engine("openvino")->make_runner(network_, network::initial_state(network_, seed), options);
    const std::vector<std::uint8_t> image(3 * 16 * 16, 100);
    runner->start(std::span(image));
    return runner->wait();
  }
  std::size_t blobs() const {
    std::size_t count = 0;
    for (const auto& file : fs::directory_iterator(folder_.path())) count += file.path().extension() == ".blob" ? 1 : 0;
    return count;
  }
  /// A file that seems to be a compiled network, last used so many seconds ago.
  void old_blob(const std::string& name, std::uintmax_t bytes, int seconds_ago) const {
    const fs::path path = folder_ / name;
    std::ofstream(path).put('x');
    fs::resize_file(path, bytes);  // takes no space
    const timespec then{time(nullptr) - seconds_ago, 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  test::TestFolder folder_;
  const network::Network network_ = network::build("resnet20", {network::Shape{3, 16, 16}, 10});
};

TEST_F(OpenVinoCache, TheSameNetworkIsCompiledOnce) {
  const TensorMap first = answer(1);
  EXPECT_EQ(blobs(), 1u);
  EXPECT_EQ(answer(1), first);
  EXPECT_EQ(blobs(), 1u) << "the second time it was read";
  EXPECT_NE(answer(2), first);
  EXPECT_EQ(blobs(), 2u) << "other weights are another network";
}

TEST_F(OpenVinoCache, WhatIsDamagedIsCompiledAnew) {
  const TensorMap first = answer(1);
  for (const auto& file : fs::directory_iterator(folder_.path())) fs::resize_file(file.path(), 1000);
  EXPECT_EQ(answer(1), first);
}

TEST_F(OpenVinoCache, WhatWasLongestNotUsedGoesWhereThereIsTooMuch) {
  constexpr std::uintmax_t kMegabyte = 1'000'000;
  old_blob("b.blob", 500 * kMegabyte, 300);
  old_blob("a.blob", 500 * kMegabyte, 200);
  old_blob("c.blob", 500 * kMegabyte, 100);
  std::ofstream(folder_ / "notes.txt") << "ours";
  answer(1);
  EXPECT_FALSE(fs::exists(folder_ / "b.blob"));
  EXPECT_TRUE(fs::exists(folder_ / "a.blob"));
  EXPECT_TRUE(fs::exists(folder_ / "c.blob"));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
}

}  // namespace
}  // namespace evener
