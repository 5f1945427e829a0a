// What the native engine asks of CUDA's driver, counted by a made-up one (tests/made_up/cuda), which LD_LIBRARY_PATH
// has to lead to.
#include <cuda.h>
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "engine/native_device_helpers.h"
#include "engine/native_mlp/device/kernels.h"

namespace evener {
namespace {

using engine::TrainerOptions;
using namespace test;

class NativeDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver_ == nullptr || dlsym(driver_, "made_up_cuda_count") == nullptr) GTEST_SKIP() << "no made-up driver";
    compiler_ = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
  }

  long count(const char* what) const {
    return reinterpret_cast<long (*)(const char*)>(dlsym(driver_, "made_up_cuda_count"))(what);
  }
  long compilations() const { return reinterpret_cast<long (*)()>(dlsym(compiler_, "made_up_nvrtc_compilations"))(); }
  CUcontext current_context() const {
    CUcontext context = nullptr;
    reinterpret_cast<decltype(&cuCtxGetCurrent)>(dlsym(driver_, "cuCtxGetCurrent"))(&context);
    return context;
  }
  static TrainerOptions on_card() {
    TrainerOptions options;
    options.device = {DeviceKind::kCuda, 0};
    return options;
  }

  static constexpr data::ImageShape kShape{1, 28, 28};
  void* driver_ = nullptr;
  void* compiler_ = nullptr;
};

TEST_F(NativeDriverTest, GradientsComeToPinnedMemory) {
  const auto trainer = native(mlp("mlp:784-64-10", kShape), on_card());
  const OwnedBatch batch = random_batch(16, kShape, 10);
  const long pageable = count("pageable copies out"), pinned = count("pinned copies out");
  trainer->forward_backward(batch.view(), 1.0 / 16);
  trainer->apply(0.1);
  EXPECT_EQ(count("pageable copies out") - pageable, 0) << "each waits for all work before it";
  EXPECT_EQ(count("pinned copies out") - pinned, 5) << "four parameters and the loss";
}

TEST_F(NativeDriverTest, CompilesOnceForAllTrainers) {
  native(mlp("mlp:784-64-10", kShape), on_card());
  const long before = compilations();
  EXPECT_GE(before, 1);
  for (int i = 0; i < 2; ++i) native(mlp("mlp:784-10", kShape), on_card());
  EXPECT_EQ(compilations(), before);
}

TEST_F(NativeDriverTest, ADriverThatIsOlderThanTheCompilerWillDo) {
  const long before = count("loads of CUBIN");
  setenv("MADE_UP_NVRTC_VERSION", "13020", 1);
  EXPECT_NO_THROW(native(mlp("mlp:784-10", kShape), on_card()));
  EXPECT_EQ(count("loads of CUBIN"), before + 1);
  unsetenv("MADE_UP_NVRTC_VERSION");
}

TEST_F(NativeDriverTest, ACardThatIsNewerThanTheCompilerWillDo) {
  const long before = count("loads of PTX");
  setenv("MADE_UP_CAPABILITY", "99", 1);
  EXPECT_NO_THROW(native(mlp("mlp:784-10", kShape), on_card()));
  EXPECT_EQ(count("loads of PTX"), before + 1);
  unsetenv("MADE_UP_CAPABILITY");
}

TEST_F(NativeDriverTest, LeavesNoContextBehind) {
  const network::Network network = mlp("mlp:784-10", kShape);
  const OwnedBatch batch = random_batch(4, kShape, 10);
  const long before = count("contexts made");
  {
    const auto first = native(network, on_card());
    {
      const auto second = native(network, on_card());
      EXPECT_TRUE(second->step(batch.view(), 1, 0.1).finite);
    }
    EXPECT_TRUE(first->step(batch.view(), 1, 0.1).finite) << "goes on when another one ended in this thread";
    EXPECT_EQ(first->settle().steps, 1);
  }
  EXPECT_EQ(current_context(), nullptr);
  EXPECT_EQ(native(network, on_card())->step(batch.view(), 1, 0.1).finite, true) << "a second job";
  EXPECT_EQ(count("contexts made"), before + 2);
}

TEST_F(NativeDriverTest, DividesProductsOfFewTiles) {
  const network::Network network = mlp("mlp:784-256-10", kShape);
  const OwnedBatch batch = random_batch(64, kShape, 10);
  const auto reference = native(network, naive());
  reference->forward_backward(batch.view(), 1.0 / 64);
  for (const auto& [multiprocessors, divided] : {std::pair{"132", 2}, {"24", 1}, {"2", 0}}) {
    SCOPED_TRACE(multiprocessors);
    setenv("MADE_UP_MULTIPROCESSORS", multiprocessors, 1);
    const auto trainer = native(network, on_card());
    const long before = count("launches of add_parts");
    trainer->forward_backward(batch.view(), 1.0 / 64);
    EXPECT_EQ(count("launches of add_parts") - before, divided);
    EXPECT_LT(relative_distance(exchange_of(*trainer).gradients(), exchange_of(*reference).gradients()), kRounding);
  }
  unsetenv("MADE_UP_MULTIPROCESSORS");
}

TEST(DividedProducts, PartsFillTheDeviceAndHaveEnoughToDo) {
  using engine::native_mlp::DeviceFacts;
  using engine::native_mlp::most_part_values;
  using engine::native_mlp::part_length_for;
  using engine::native_mlp::TileShape;
  const TileShape tile;  // 32 x 32, 32 deep
  DeviceFacts device;
  device.multiprocessors = 132;
  EXPECT_EQ(part_length_for(tile, device, 64, 256, 784), 160);     // 16 tiles, 25 pieces: 6 parts of 5 pieces at most
  EXPECT_EQ(part_length_for(tile, device, 64, 10, 256), 128);      // 2 tiles, 8 pieces: 2 parts
  EXPECT_GE(part_length_for(tile, device, 64, 256, 100), 100);     // 4 pieces
  EXPECT_GE(part_length_for(tile, device, 4096, 4096, 784), 784);  // tiles enough
  device.multiprocessors = 4;
  EXPECT_GE(part_length_for(tile, device, 64, 256, 784), 784);
  for (const std::int64_t rows : {1, 33, 700}) {
    for (const std::int64_t columns : {1, 65, 900}) {
      for (const std::int64_t summed : {1, 129, 5000}) {
        for (const int multiprocessors : {1, 7, 132}) {
          device.multiprocessors = multiprocessors;
          const std::int64_t length = part_length_for(tile, device, rows, columns, summed);
          const std::int64_t parts = (summed + length - 1) / length;
          EXPECT_EQ(length % tile.depth, 0);
          if (parts == 1) continue;
          EXPECT_LE(static_cast<std::size_t>(parts * rows * columns), most_part_values(tile, device));
        }
      }
    }
  }
}

}  // namespace
}  // namespace evener
