// The made-up CUDA driver and its compiler: what they do, and what they refuse.
#include <cuda.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "made_up/card.h"
#include "made_up/cuda/nvrtc.h"

namespace made_up {
namespace {

using testing::Each;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsNan;

const int kTwoCards = setenv("MADE_UP_CARDS", "2", /*overwrite=*/0);

std::string compiled(const std::string& text, const char* architecture, std::string* log = nullptr) {
  void* program = nullptr;
  nvrtcCreateProgram(&program, text.c_str(), "test.cu", 0, nullptr, nullptr);
  const std::string option = std::string("--gpu-architecture=") + architecture;
  const char* options[] = {option.c_str(), "-DITEMS=64"};
  const int code = nvrtcCompileProgram(program, 2, options);
  const auto read = [&](auto size, auto copy) {
    std::size_t bytes = 0;
    size(program, &bytes);
    std::string value(bytes, '\0');
    copy(program, value.data());
    return value;
  };
  if (log != nullptr) *log = read(nvrtcGetProgramLogSize, nvrtcGetProgramLog);
  std::string image;
  if (code == 0) {
    const bool is_cubin = std::string(architecture).starts_with("sm_");
    image = is_cubin ? read(nvrtcGetCUBINSize, nvrtcGetCUBIN) : read(nvrtcGetPTXSize, nvrtcGetPTX);
  }
  nvrtcDestroyProgram(&program);
  return image;
}

/// Values of a group in the opposite order; `between` stands where the barrier has to.
std::string turning_kernel(const std::string& between) {
  return R"(
extern "C" __global__ void __launch_bounds__(ITEMS) turn(const float* from, float* to, int count) {
  __shared__ __align__(16) float group[ITEMS];
  const int own = threadIdx.x, first = blockIdx.x * ITEMS;
  group[own] = from[first + own];
  )" + between +
         R"(
  if (first + own < count) to[first + own] = group[ITEMS - 1 - own];
})";
}

class MadeUpCuda : public testing::Test {
 protected:
  static constexpr int kItems = 64, kGroups = 3, kCount = kItems * kGroups;

  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&from_, kBytes), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&to_, kBytes), CUDA_SUCCESS);
    std::iota(values_.begin(), values_.end(), 0.0F);
    ASSERT_EQ(cuMemcpyHtoDAsync(from_, values_.data(), kBytes, stream_), CUDA_SUCCESS);
  }
  void TearDown() override {
    cuStreamDestroy(stream_);
    cuMemFree(from_);
    cuMemFree(to_);
    cuCtxSetCurrent(nullptr);
    cuDevicePrimaryCtxRelease(0);
  }

  CUfunction load(const std::string& text, const char* name = "turn") {
    const std::string image = compiled(text, "sm_90");
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, image.data()), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
    return function;
  }
  CUresult launch(CUfunction function, CUdeviceptr from, CUdeviceptr to, int count = kCount) {
    void* values[] = {&from, &to, &count, nullptr};
    return cuLaunchKernel(function, kGroups, 1, 1, kItems, 1, 1, 0, stream_, values, nullptr);
  }
  /// Waits.
  std::vector<float> result() {
    std::vector<float> found(kCount);
    EXPECT_EQ(cuMemcpyDtoHAsync(found.data(), to_, kBytes, stream_), CUDA_SUCCESS);
    return found;
  }
  std::vector<float> turned() const {
    std::vector<float> expected;
    for (int i = 0; i < kCount; ++i) {
      const int item = i % kItems;
      expected.push_back(values_[static_cast<std::size_t>(i - item + kItems - 1 - item)]);
    }
    return expected;
  }

  static constexpr std::size_t kBytes = kCount * sizeof(float);
  CUstream stream_ = nullptr;
  CUdeviceptr from_ = 0, to_ = 0;
  std::array<float, kCount> values_{};
};

TEST_F(MadeUpCuda, RunsKernelsWhoseItemsWaitForEachOther) {
  const CUfunction function = load(turning_kernel("__syncthreads();"));
  for (int i = 0; i < 2; ++i) {  // in either order
    EXPECT_EQ(launch(function, from_, to_), CUDA_SUCCESS);
    EXPECT_THAT(result(), ElementsAreArray(turned()));
  }
}

TEST_F(MadeUpCuda, ABarrierThatIsMissingShows) {
  EXPECT_EQ(launch(load(turning_kernel("")), from_, to_), CUDA_SUCCESS);
  EXPECT_THAT(result(), testing::Contains(IsNan()));
}

TEST_F(MadeUpCuda, ABarrierThatSomeDoNotComeToIsAFault) {
  EXPECT_EQ(launch(load(turning_kernel("if (own % 2) __syncthreads();")), from_, to_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemcpyHtoDAsync(from_, values_.data(), kBytes, stream_), CUDA_ERROR_LAUNCH_FAILED) << "from then on";
}

TEST_F(MadeUpCuda, TellsWhatTheCompilerSays) {
  std::string log;
  EXPECT_EQ(compiled("extern \"C\" __global__ void odd() {\n  what;\n}\n", "sm_90", &log), "");
  EXPECT_THAT(log, HasSubstr("test.cu:2"));
  EXPECT_EQ(compiled("", "sm_91", &log), "");
  EXPECT_THAT(log, HasSubstr("sm_91"));
}

TEST_F(MadeUpCuda, ArgumentsAreMemoryOfTheCard) {
  const CUfunction function = load(turning_kernel("__syncthreads();"));
  EXPECT_EQ(launch(function, reinterpret_cast<CUdeviceptr>(values_.data()), to_), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(MadeUpCuda, LaunchesKeepWithinTheCardsLimits) {
  const CUfunction function = load(turning_kernel("__syncthreads();"));
  int count = kCount;
  void* values[] = {&from_, &to_, &count, nullptr};
  const auto with = [&](unsigned groups, unsigned across, unsigned items) {
    return cuLaunchKernel(function, groups, across, 1, items, 1, 1, 0, stream_, values, nullptr);
  };
  EXPECT_EQ(with(0, 1, kItems), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 65536, kItems), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 2 * kItems), CUDA_ERROR_INVALID_VALUE) << "more than its bounds";
  values[2] = nullptr;
  EXPECT_EQ(with(1, 1, kItems), CUDA_ERROR_INVALID_VALUE) << "one argument is missing";
}

TEST_F(MadeUpCuda, PinnedMemoryIsReadWhenTheCopyIsDone) {
  void* pinned = nullptr;
  ASSERT_EQ(cuMemAllocHost(&pinned, kBytes), CUDA_SUCCESS);
  auto* early = static_cast<float*>(pinned);
  std::copy(values_.begin(), values_.end(), early);
  std::vector<float> pageable(values_.begin(), values_.end());
  ASSERT_EQ(cuMemcpyHtoDAsync(from_, pageable.data(), kBytes, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyHtoDAsync(to_, pinned, kBytes, stream_), CUDA_SUCCESS);
  std::fill_n(early, kCount, -1.0F);
  std::fill(pageable.begin(), pageable.end(), -1.0F);
  EXPECT_THAT(result(), Each(-1.0F)) << "rewritten too early";
  ASSERT_EQ(cuMemcpyDtoHAsync(pinned, from_, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(early[7], -1) << "read too early";
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(early[7], values_[7]) << "what is pageable was staged";
  ASSERT_EQ(cuMemcpyDtoHAsync(pinned, from_, kBytes, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS) << "freed before the copy was done";
}

TEST_F(MadeUpCuda, AGraphDoesItsWorkAgain) {
  const CUfunction function = load(turning_kernel("__syncthreads();"));
  ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(launch(function, from_, to_), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_THAT(result(), Each(IsNan())) << "nothing was done so far";
  ASSERT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
  EXPECT_THAT(result(), ElementsAreArray(turned()));
  CUdeviceptr other = from_;
  ASSERT_EQ(cuMemFree(other), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS) << "its memory is gone";
  from_ = 0;
  cuGraphExecDestroy(executable);
}

TEST_F(MadeUpCuda, ACaptureForbidsWaitingAndIsVoidAfterIt) {
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  const auto end = [&] {
    CUgraph graph = nullptr;
    return cuStreamEndCapture(stream_, &graph);
  };
  EXPECT_EQ(end(), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(event, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS) << "all is well after it";
  cuEventDestroy(event);
}

TEST_F(MadeUpCuda, OnlyARelaxedCaptureLetsAllocate) {
  CUdeviceptr block = 0;
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&block, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(block), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&block, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(MadeUpCuda, CallsNeedAContextThatLives) {
  CUcontext other = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  CUdeviceptr block = 0;
  EXPECT_EQ(cuMemAlloc(&block, 16), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxSetCurrent(other), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_INVALID_HANDLE) << "of the other card";
  ASSERT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&block, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxSetCurrent(other), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(other), CUDA_SUCCESS);
  cuDevicePrimaryCtxRelease(0);
}

TEST_F(MadeUpCuda, AChildOfAProcessThatUsedItCanNot) {
  const pid_t child = fork();
  if (child == 0) _exit(static_cast<int>(cuInit(0)));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), CUDA_ERROR_NOT_INITIALIZED);
}

TEST_F(MadeUpCuda, TakesWhatWasCompiledForItAndItsVersion) {
  CUmodule module = nullptr;
  const auto load_for = [&](const char* architecture) {
    return cuModuleLoadData(&module, compiled(turning_kernel(""), architecture).c_str());
  };
  EXPECT_EQ(load_for("compute_75"), CUDA_SUCCESS);
  EXPECT_EQ(load_for("compute_100"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(cuModuleLoadData(&module, compiled(turning_kernel(""), "sm_80").data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  setenv("MADE_UP_NVRTC_VERSION", "13020", 1);
  EXPECT_EQ(load_for("compute_90"), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(cuModuleLoadData(&module, compiled(turning_kernel(""), "sm_90").data()), CUDA_SUCCESS);
  unsetenv("MADE_UP_NVRTC_VERSION");
  EXPECT_EQ(cuModuleLoadData(&module, "what"), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(MadeUpCuda, TellsItsCardsApart) {
  int count = 0;
  ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2);
  std::vector<std::string> names;
  std::array<CUuuid, 2> ids{};
  for (int device = 0; device < 2; ++device) {
    std::array<char, 64> name{};
    ASSERT_EQ(cuDeviceGetName(name.data(), static_cast<int>(name.size()), device), CUDA_SUCCESS);
    ASSERT_EQ(cuDeviceGetUuid(&ids[static_cast<std::size_t>(device)], device), CUDA_SUCCESS);
    names.emplace_back(name.data());
  }
  EXPECT_THAT(names, testing::ElementsAre("Made-up card 0", "Made-up card 1"));
  EXPECT_NE(std::string(ids[0].bytes, sizeof ids[0].bytes), std::string(ids[1].bytes, sizeof ids[1].bytes));
  CUdevice device = 0;
  EXPECT_EQ(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
  std::size_t bytes = 0;
  CUdeviceptr block = 0;
  ASSERT_EQ(cuDeviceTotalMem(&bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&block, bytes), CUDA_ERROR_OUT_OF_MEMORY);
}

}  // namespace
}  // namespace made_up
