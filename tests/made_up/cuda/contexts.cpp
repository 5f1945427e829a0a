// Devices and contexts. MADE_UP_CARDS says how many cards there are, MADE_UP_CAPABILITY (90) and
// MADE_UP_MULTIPROCESSORS (132) what they are like, MADE_UP_DRIVER_VERSION (13000) how new the driver is;
// CUDA_VISIBLE_DEVICES hides cards.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <vector>

#include "made_up/cuda/driver.h"
#include "made_up/cuda/nvrtc.h"

namespace made_up::cuda {
namespace {

std::atomic<bool> initialized{false};
thread_local Context* current = nullptr;

std::mutex contexts_mutex;
std::map<int, Context*>& primary_contexts() {
  static auto* all = new std::map<int, Context*>;
  return *all;
}
std::map<const void*, Context*>& known_contexts() {
  static auto* all = new std::map<const void*, Context*>;
  return *all;
}

int number_from(const char* name, int otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::atoi(given) : otherwise;
}

/// Cards by the numbers that the process knows them by.
const std::vector<int>& visible_cards() {
  static const std::vector<int> cards = [] {
    std::vector<int> shown;
    const char* named = std::getenv("CUDA_VISIBLE_DEVICES");
    if (named == nullptr) {
      for (int card = 0; card < made_up::cards(); ++card) shown.push_back(card);
      return shown;
    }
    std::istringstream words(named);
    for (std::string word; std::getline(words, word, ',');) {
      if (word.empty() || !std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; })) break;
      if (std::stoi(word) >= made_up::cards()) break;  // as the driver does: what stands after it isn't seen
      shown.push_back(std::stoi(word));
    }
    return shown;
  }();
  return cards;
}

bool is_device(CUdevice device) {
  return device >= 0 && device < static_cast<int>(visible_cards().size());
}

std::map<std::string, long>& counts() {
  static auto* all = new std::map<std::string, long>;
  return *all;
}
std::mutex counts_mutex;

}  // namespace

Context* current_context() {
  return current;
}

CUresult begin_call() {
  return initialized && !is_spoilt_by_fork() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult begin_call_in_context() {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (current->is_gone()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return current->fault;
}

void fail_later(Context& context, CUresult code, const std::string& what) {
  std::cerr << ("made-up CUDA driver: " + what + "\n");
  CUresult none = CUDA_SUCCESS;
  context.fault.compare_exchange_strong(none, code);
}

void count(const std::string& what) {
  const std::lock_guard lock(counts_mutex);
  ++counts()[what];
}

}  // namespace made_up::cuda

using namespace made_up::cuda;

extern "C" {

long made_up_cuda_count(const char* what) {
  const std::lock_guard lock(counts_mutex);
  return counts()[what];
}

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  try {
    made_up::require_usable();
  } catch (const made_up::Refused&) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (visible_cards().empty()) return CUDA_ERROR_NO_DEVICE;
  initialized = true;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  switch (error) {
#define NAMED(name) \
  case name:        \
    *text = #name;  \
    return CUDA_SUCCESS
    NAMED(CUDA_SUCCESS);
    NAMED(CUDA_ERROR_INVALID_VALUE);
    NAMED(CUDA_ERROR_OUT_OF_MEMORY);
    NAMED(CUDA_ERROR_NOT_INITIALIZED);
    NAMED(CUDA_ERROR_NO_DEVICE);
    NAMED(CUDA_ERROR_INVALID_DEVICE);
    NAMED(CUDA_ERROR_INVALID_IMAGE);
    NAMED(CUDA_ERROR_INVALID_CONTEXT);
    NAMED(CUDA_ERROR_NO_BINARY_FOR_GPU);
    NAMED(CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    NAMED(CUDA_ERROR_INVALID_HANDLE);
    NAMED(CUDA_ERROR_ILLEGAL_STATE);
    NAMED(CUDA_ERROR_NOT_FOUND);
    NAMED(CUDA_ERROR_NOT_READY);
    NAMED(CUDA_ERROR_ILLEGAL_ADDRESS);
    NAMED(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    NAMED(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    NAMED(CUDA_ERROR_LAUNCH_FAILED);
    NAMED(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    NAMED(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    NAMED(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    NAMED(CUDA_ERROR_CAPTURED_EVENT);
    NAMED(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
#undef NAMED
    default:
      *text = nullptr;
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuDriverGetVersion(int* version) {
  *version = number_from("MADE_UP_DRIVER_VERSION", 13000);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  *count = static_cast<int>(visible_cards().size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const int card = visible_cards()[static_cast<std::size_t>(device)];
  std::strncpy(name, ("Made-up card " + std::to_string(card)).c_str(), static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memcpy(uuid->bytes, "made-up card   ", sizeof uuid->bytes);
  uuid->bytes[sizeof uuid->bytes - 1] = static_cast<char>(visible_cards()[static_cast<std::size_t>(device)]);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = made_up::memory_of(visible_cards()[static_cast<std::size_t>(device)]).total;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const int capability = number_from("MADE_UP_CAPABILITY", 90);
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = capability / 10;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = capability % 10;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = number_from("MADE_UP_MULTIPROCESSORS", 132);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;  // nobody has asked for it so far
  }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(contexts_mutex);
  const int card = visible_cards()[static_cast<std::size_t>(device)];
  Context*& primary = primary_contexts()[card];
  if (primary == nullptr || primary->is_gone()) {
    primary = new Context;
    primary->device = card;
    known_contexts()[primary] = primary;
    count("contexts made");
  } else {
    ++primary->uses;
  }
  *context = reinterpret_cast<CUcontext>(primary);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(contexts_mutex);
  const auto found = primary_contexts().find(visible_cards()[static_cast<std::size_t>(device)]);
  if (found == primary_contexts().end() || found->second->is_gone()) return CUDA_ERROR_INVALID_CONTEXT;
  --found->second->uses;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  const std::lock_guard lock(contexts_mutex);
  if (context == nullptr) {
    current = nullptr;
    return CUDA_SUCCESS;
  }
  const auto found = known_contexts().find(context);
  if (found == known_contexts().end() || found->second->is_gone()) return CUDA_ERROR_INVALID_CONTEXT;
  current = found->second;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  *context = reinterpret_cast<CUcontext>(current);
  return CUDA_SUCCESS;
}

}  // extern "C"
