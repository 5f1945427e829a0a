// Discovery with fake drivers and made-up trees of /proc, /sys and /dev; then once on the real machine.
#include "placement/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace evener::placement {
namespace {

using test::TestFolder;
using test::write_text;
using testing::HasSubstr;

TEST(Cuda, ListsGpusWithWhatStandsAgainstThem) {
  const TestFolder root;
  write_text(
      root / "proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:17:43 UTC 2025\nGCC version: gcc 12\n");
  const CudaDriver driver{
      "", 13000, {{"NVIDIA H200", 150'000'000'000, 9, 0, "GPU-8e1f"}, {"Tesla P100", 16'000'000'000, 6, 0}}};
  const AcceleratorList list = find_cuda_gpus(driver, root.path());
  EXPECT_EQ(list.driver, "CUDA 13.0 (driver 580.65.06)");
  ASSERT_EQ(list.devices.size(), 2U);
  EXPECT_EQ(list.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(device_text(list.devices[1].device), "cuda:1");
  EXPECT_EQ(list.devices[0].problem, "");
  EXPECT_EQ(list.devices[0].uuid, "GPU-8e1f");
  EXPECT_EQ(list.devices[0].memory_bytes, 150'000'000'000U);
  EXPECT_EQ(list.devices[0].compute_major, 9);
  EXPECT_EQ(list.devices[1].compute_major, 6);
  EXPECT_THAT(list.devices[1].problem, HasSubstr("compute capability is 6.0"));
  EXPECT_EQ(list.reason, "");
}

TEST(Cuda, TuringIsTheOldestAndWithoutTheLibraryTheKernelsDriverIsStillTold) {
  const TestFolder root;
  write_text(root / "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX  575.1  Sun\n");
  const auto problem = [&](int version, int major, int minor) {
    return find_cuda_gpus(CudaDriver{"", version, {{"", 0, major, minor}}}, root.path()).devices.at(0).problem;
  };
  EXPECT_EQ(problem(13000, 7, 5), "");
  EXPECT_THAT(problem(13000, 7, 2), HasSubstr("is 7.2, but CUDA 13 needs 7.5"));
  EXPECT_EQ(problem(13010, 10, 0), "") << "10.0 is more than 7.5";
  EXPECT_THAT(problem(12090, 9, 0), HasSubstr("knows CUDA 12.9"));
  EXPECT_EQ(find_cuda_gpus({}, root.path()).driver, "driver 575.1");
  EXPECT_EQ(find_cuda_gpus(CudaDriver{.init_error = "CUDA_ERROR_X"}, root.path()).driver, "driver 575.1");
  EXPECT_EQ(find_cuda_gpus(CudaDriver{"", 13000, {{"", 0, 9, 0}}}, root.path()).devices[0].name, "NVIDIA GPU");
}

TEST(Cuda, AnOldDriverIsNamed) {
  const TestFolder root;
  const AcceleratorList list =
      find_cuda_gpus(CudaDriver{"", 12040, {{"NVIDIA A100", 40'000'000'000, 8, 0}}}, root.path());
  EXPECT_EQ(list.driver, "CUDA 12.4");
  EXPECT_THAT(list.devices[0].problem, HasSubstr("knows CUDA 12.4, but 13.0 is needed: install driver 580"));
}

TEST(Cuda, AbsenceHasFourReasons) {
  const TestFolder empty;
  EXPECT_THAT(find_cuda_gpus({}, empty.path()).reason, HasSubstr("no NVIDIA driver is loaded"));

  const TestFolder container;
  write_text(container / "proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 1\n");
  const AcceleratorList list = find_cuda_gpus({}, container.path());
  EXPECT_THAT(list.reason, HasSubstr("the kernel knows NVIDIA H200, but libcuda.so.1 is not found"));
  EXPECT_THAT(list.remedy, HasSubstr("--gpus all"));

  const CudaDriver broken{.init_error = "CUDA_ERROR_NO_DEVICE"};
  EXPECT_THAT(find_cuda_gpus(broken, empty.path()).reason, HasSubstr("cuInit says CUDA_ERROR_NO_DEVICE"));
  EXPECT_THAT(find_cuda_gpus(broken, empty.path()).remedy, HasSubstr("CUDA_VISIBLE_DEVICES"));

  EXPECT_THAT(find_cuda_gpus(CudaDriver{}, empty.path()).reason, HasSubstr("reports no GPU"));
}

TEST(Intel, OnlyItsRenderNodesCount) {
  const TestFolder root;
  write_text(root / "sys/class/drm/renderD128/device/vendor", "0x10de\n");
  write_text(root / "sys/class/drm/renderD129/device/vendor", "0x8086\n");
  write_text(root / "sys/class/drm/renderD130/device/vendor", "0x8086\n");
  write_text(root / "sys/class/drm/card0/device/vendor", "0x8086\n");
  write_text(root / "dev/dri/renderD129", "");
  const AcceleratorList list = find_intel_gpus(root.path());
  ASSERT_EQ(list.devices.size(), 2U);
  EXPECT_THAT(list.devices[0].name, HasSubstr("renderD129"));
  EXPECT_EQ(list.devices[0].problem, "");
  EXPECT_EQ(list.devices[1].device.index, 1);
  EXPECT_THAT(list.devices[1].problem, HasSubstr("no permission"));
  const TestFolder empty;
  EXPECT_THAT(find_intel_gpus(empty.path()).reason, HasSubstr("no Intel GPU"));
}

TEST(Npu, IsFoundByItsDeviceFile) {
  const TestFolder root;
  EXPECT_THAT(find_npus(root.path()).reason, HasSubstr("/dev/accel"));
  write_text(root / "dev/accel/accel0", "");
  ASSERT_EQ(find_npus(root.path()).devices.size(), 1U);
  EXPECT_EQ(find_npus(root.path()).devices[0].problem, "");
}

TEST(MachineFor, LooksOnlyAtWhatIsUsed) {
  const Machine machine = machine_for(parse("cpu/t1+npu"));
  EXPECT_THAT(machine.cuda.reason, HasSubstr("nobody looked"));
  EXPECT_THAT(machine.intel.reason, HasSubstr("nobody looked"));
  EXPECT_THAT(machine.npu.reason, testing::Not(HasSubstr("nobody looked")));
  EXPECT_GE(machine.cores, 1);
  EXPECT_FALSE(machine.cpu.cores.empty());
}

TEST(ThisMachine, HasDevicesOrReasons) {
  for (const auto kind : {DeviceKind::kCuda, DeviceKind::kOpencl, DeviceKind::kIntel, DeviceKind::kNpu}) {
    const AcceleratorList& list = machine().accelerators(kind);
    EXPECT_NE(list.devices.empty(), list.reason.empty()) << device_kind_name(kind);
    for (const auto& device : list.devices) EXPECT_FALSE(device.name.empty());
  }
  EXPECT_THROW(machine().accelerators(DeviceKind::kCpu), Error);
}

}  // namespace
}  // namespace evener::placement
