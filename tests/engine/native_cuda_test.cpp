// The kernels as CUDA, as far as that goes without a GPU: NVRTC compiles them down to the instructions of every GPU
// that CUDA 13 knows.
#include <gmock/gmock.h>

#include <iostream>
#include <regex>

#include "base/error.h"
#include "engine/native_mlp/cuda/libraries.h"
#include "engine/native_mlp/device/kernels.h"

namespace evener {
namespace {

using engine::native_mlp::compile_cuda;
using engine::native_mlp::CudaCode;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const char* const kKernels[] = {"gather",          "forward", "add_parts", "input_gradient",
                                "weight_gradient", "update",  "follow",    "loss"};

class NativeCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    nvrtc_ = engine::native_mlp::nvrtc_calls(why);
    if (nvrtc_ == nullptr) GTEST_SKIP() << why;
  }

  const CudaCode& compiled_for(int capability) const {
    const engine::native_mlp::TileShape tile;
    return compile_cuda(*nvrtc_, engine::native_mlp::device_kernels(),
                        {{"VECTOR", tile.vector},
                         {"TILE_ROWS", tile.rows},
                         {"ITEMS_X", tile.items_x},
                         {"ITEMS_Y", tile.items_y},
                         {"DEPTH", tile.depth},
                         {"LOAD", tile.load},
                         {"SINGLE_ITEMS", engine::native_mlp::kItems}},
                        capability);
  }

  const engine::native_mlp::NvrtcCalls* nvrtc_ = nullptr;
};

/// A kernel in what ptxas tells.
struct Resources {
  std::string kernel;
  int spilt_bytes = 0, registers = 0, shared_bytes = 0;
};

int number_before(const std::string& text, const char* words) {
  std::smatch found;
  return std::regex_search(text, found, std::regex("(\\d+) " + std::string(words))) ? std::stoi(found[1]) : 0;
}

std::vector<Resources> resources_in(const std::string& log) {
  const std::string begin = "Compiling entry function '";
  std::vector<Resources> all;
  for (std::size_t at = log.find(begin); at != std::string::npos;) {
    at += begin.size();
    const std::size_t next = log.find(begin, at);
    const std::string told = log.substr(at, next - at);
    all.push_back({told.substr(0, told.find('\'')), number_before(told, "bytes spill stores"),
                   number_before(told, "registers"), number_before(told, "bytes smem")});
    at = next;
  }
  return all;
}

TEST_F(NativeCudaTest, NvrtcCompilesTheKernelsToInstructionsOfEachGpu) {
  for (const int capability : {75, 80, 86, 89, 90, 100, 120}) {
    SCOPED_TRACE(capability);
    const CudaCode& code = compiled_for(capability);
    EXPECT_FALSE(code.is_ptx);
    EXPECT_THAT(code.image, StartsWith("\x7f"
                                       "ELF"));
    std::vector<std::string> found;
    for (const Resources& each : resources_in(code.log)) {
      std::cout << "sm_" << capability << ' ' << each.kernel << ": " << each.registers << " registers, "
                << each.spilt_bytes << " bytes of spills, " << each.shared_bytes << " bytes of shared memory\n";
      found.push_back(each.kernel);
      const bool is_product = each.kernel == "forward" || each.kernel.ends_with("_gradient");
      EXPECT_TRUE(each.spilt_bytes == 0 || !is_product) << each.kernel << ": sums stay in registers";
      // Two groups of 128 items fit into a multiprocessor, which has 65536 registers and 64 KiB at least.
      EXPECT_TRUE(each.registers > 0 && each.registers <= 255) << each.kernel;
      EXPECT_LE(each.shared_bytes, 32 << 10) << each.kernel;
      EXPECT_EQ(each.shared_bytes > 0, is_product || each.kernel == "loss") << each.kernel;
    }
    EXPECT_THAT(found, testing::UnorderedElementsAreArray(kKernels)) << code.log;
  }
}

TEST_F(NativeCudaTest, AGpuThatNvrtcDoesNotKnowGetsPtxOfTheOneBefore) {
  const CudaCode& code = compiled_for(99);
  EXPECT_TRUE(code.is_ptx);
  EXPECT_THAT(code.image, HasSubstr(".target sm_90"));
  for (const char* kernel : kKernels) EXPECT_THAT(code.image, HasSubstr(std::string(".entry ") + kernel + "("));
  EXPECT_THAT(code.image, HasSubstr("ld.shared.v4")) << "operands are read four at a time";
  EXPECT_THAT(code.image, Not(HasSubstr("__local_depot"))) << "sums stay in registers";
}

TEST_F(NativeCudaTest, CompilesWhatIsAskedForAgainNoSecondTime) {
  EXPECT_EQ(&compiled_for(90), &compiled_for(90));
  EXPECT_NE(&compiled_for(90), &compiled_for(80));
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
