// The kernels as CUDA, as far as that goes without a GPU: NVRTC compiles them, for every GPU that CUDA 13 knows.
#include <gmock/gmock.h>

#include "base/error.h"
#include "engine/native_mlp/cuda/compiler.h"
#include "engine/native_mlp/device/kernels.h"

namespace evener {
namespace {

using engine::native_mlp::compile_cuda;
using testing::HasSubstr;

class NativeCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    nvrtc_ = engine::native_mlp::nvrtc_calls(why);
    if (nvrtc_ == nullptr) GTEST_SKIP() << why;
  }

  const engine::native_mlp::NvrtcCalls* nvrtc_ = nullptr;
};

TEST_F(NativeCudaTest, NvrtcCompilesTheKernels) {
  const engine::native_mlp::TileShape tile;
  const std::vector<std::pair<std::string, int>> macros = {{"VECTOR", tile.vector},
                                                           {"TILE_ROWS", tile.rows},
                                                           {"ITEMS_X", tile.items_x},
                                                           {"ITEMS_Y", tile.items_y},
                                                           {"DEPTH", tile.depth},
                                                           {"LOAD", tile.load},
                                                           {"SINGLE_ITEMS", engine::native_mlp::kItems}};
  for (const int capability : {75, 80, 90, 120}) {
    const std::string code = compile_cuda(*nvrtc_, engine::native_mlp::device_kernels(), macros, capability);
    for (const char* kernel : {"gather", "forward", "input_gradient", "weight_gradient", "update", "follow", "loss"}) {
      EXPECT_THAT(code, HasSubstr(std::string(".entry ") + kernel + "("));
    }
    EXPECT_THAT(code, HasSubstr("ld.shared.v4")) << "operands are read four at a time";
    EXPECT_THAT(code, testing::Not(HasSubstr("__local_depot"))) << "sums stay in registers";
  }
}

TEST_F(NativeCudaTest, SaysWhatTheCompilerSays) {
  try {
    compile_cuda(*nvrtc_, "KERNEL odd() { what; }", {{"VECTOR", 4}}, 90);
    FAIL() << "it compiled";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"what\" is undefined"));
  }
}

}  // namespace
}  // namespace evener
