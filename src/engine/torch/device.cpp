#include "engine/torch/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>

#include "base/cpu.h"
#include "base/error.h"
#include "base/module.h"
#include "base/names.h"
#include "base/precision.h"
#include "network/cost.h"

namespace evener::engine::torch_engine {
namespace {

constexpr const char* kCudaModule = "torch_cuda";

/// Estimates how many images fit into `bytes` bytes of memory.
std::int64_t predicted_images(const network::Network& network, const TrainerOptions& options, std::uint64_t bytes) {
  const auto memory = network::training_memory(network);
  const std::int64_t per_sample = memory.sample_bytes(activation_bits(options.precision));
  const std::int64_t fixed = memory.fixed_bytes(optimizer_slots(options.optimizer));
  return std::max<std::int64_t>(0, (static_cast<std::int64_t>(bytes) - fixed) / per_sample);
}

std::mutex waiting_mutex;
std::set<int> waiting_gpus;  // by index

}  // namespace

at::Device torch_device(Device device) {
  if (device.kind == DeviceKind::kCpu) return at::Device(at::kCPU);
  return {cuda_parts().device_type(), static_cast<at::DeviceIndex>(device.index)};
}

std::string device_refusal(Device device) {
  if (device.kind == DeviceKind::kCpu) return "";
  if (device.kind != DeviceKind::kCuda) {
    return "the torch engine computes on CPUs and on NVIDIA GPUs, not on " + device_text(device);
  }
  const ModuleStatus status = module_status(kCudaModule);
  if (status.state == ModuleState::kUsable) return "";
  return "the torch engine can't compute on " + device_text(device) + ": the module '" + kCudaModule +
         "' can't be used: " + status.reason + "; run './evener --with-cuda setup', which fetches CUDA's libraries";
}

void set_up_cuda(Precision precision, bool search, bool deterministic) {
  auto& context = at::globalContext();
  context.setDeterministicCuDNN(deterministic);
  // For an operator without a deterministic algorithm LibTorch prints a warning with its name.
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/true);
  context.setDeterministicFillUninitializedMemory(false);
  // cuBLAS reads this variable when it is first used: a workspace of its own for each stream makes products
  // deterministic.
  if (deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  context.setAllowTF32CuBLAS(precision == Precision::kTf32);
  context.setAllowTF32CuDNN(precision == Precision::kTf32);
  context.setBenchmarkCuDNN(search);
}

void require_cuda(Device device) {
  if (device.kind != DeviceKind::kCuda || cuda_parts().finds_devices()) return;
  throw Error("LibTorch finds no GPU for " + device_text(device) +
              ": either its driver shows this process none (see evener doctor), or LibTorch computed on the CPU in "
              "this process before its CUDA libraries were opened: begin with the GPU, or in a process of its own");
}

CudaParts& cuda_parts() {
  static const std::unique_ptr<CudaParts> parts(static_cast<CudaParts*>(require_module(kCudaModule).create()));
  return *parts;
}

std::optional<std::uint64_t> peak_memory_bytes(at::Device device) {
  if (device.is_cpu()) return std::nullopt;
  const auto stats = at::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<std::uint64_t>(stats.reserved_bytes[all].peak);
}

void begin_peak_of_memory(at::Device device) {
  if (device.is_cpu()) return;
  release_memory(device);
  at::getDeviceAllocator(device.type())->resetPeakStats(device.index());
}

void release_memory(at::Device device) {
  if (!device.is_cpu()) at::getDeviceAllocator(device.type())->emptyCache();
}

std::string out_of_memory_text(const network::Network& network, const TrainerOptions& options, std::int64_t images,
                               const std::string& reason) {
  const at::Device device = torch_device(options.device);
  std::string text = "out of memory on " + device_text(options.device);
  if (images > 0) text += " with a batch of " + std::to_string(images) + " images";
  text += " (" + reason.substr(0, reason.find('\n')) + "); ";
  if (images == 0) return text + "use a smaller --batch";
  if (device.is_cpu()) return text + "use a smaller --batch";
  const auto total = at::getDeviceAllocator(device.type())->getMemoryInfo(device.index()).second;
  // The estimate doesn't include workspaces, so it may exceed the batch that has just failed: offer less than that.
  const std::int64_t fits = std::min(predicted_images(network, options, total), images * 3 / 4);
  if (fits < 1) return text + "the device is too small for this model: use a smaller --size or a smaller model";
  return text + "the largest that fits is about " + std::to_string(fits) + " (predicted); --batch max finds it out";
}

/// LibTorch keeps one number of threads for the process, which every thread copies when it first asks for it. This
/// thread asks here, so that a number that another replica sets meanwhile can't replace its own later.
void use_threads(int threads, const std::vector<int>& cpus) {
  at::internal::lazy_init_num_threads();  // as this module sees it,
  at::get_num_threads();                  // and as LibTorch does
  if (!cpus.empty()) {
    omp_set_num_threads(1);  // ends existing workers, which may run on other CPUs and would move this thread there
    pin_this_thread(cpus);
  }
  at::set_num_threads(threads);
  // LibTorch uses this module's OpenMP runtime (openmp.cpp) too, unless it was loaded first, as in a Python process
  // that has imported torch.
  omp_set_num_threads(threads);
}

void keep_on(const std::vector<int>& cpus) {
  thread_local std::vector<int> kept;
  if (kept == cpus) return;
  pin_this_thread(cpus);
  kept = cpus;
}

void ensure_threads(int threads) {
  at::internal::lazy_init_num_threads();
  if (at::get_num_threads() != threads || omp_get_max_threads() != threads) use_threads(threads, {});
}

WaitingTrainer::WaitingTrainer(Device device) : device_(device) {
  const std::lock_guard lock(waiting_mutex);
  if (waiting_gpus.insert(device.index).second) return;
  const std::string gpu = device_text(device);
  throw Error(
      "two replicas of one process can't both train on " + gpu +
      ", where the batch-norm of each waits for the other: give each a device of its own, or use --batch-norm local");
}

WaitingTrainer::~WaitingTrainer() {
  const std::lock_guard lock(waiting_mutex);
  waiting_gpus.erase(device_.index);
}

}  // namespace evener::engine::torch_engine
