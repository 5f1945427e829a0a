// Memory and copies. The host's pinned memory is read and written when a copy is done, other memory as CUDA does it:
// read before the call returns (it is staged), written before the call returns (it waits).
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "made_up/cuda/driver.h"

namespace made_up::cuda {
namespace {

constexpr std::size_t kPage = 4096, kAlignment = 64;

struct Pinned {
  std::byte* mapping;
  std::size_t mapped_bytes, bytes;
};
std::mutex pinned_mutex;
std::map<const std::byte*, Pinned>& pinned() {
  static auto* all = new std::map<const std::byte*, Pinned>;
  return *all;
}

std::size_t rounded_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

/// Device memory that a copy is about to touch, seen again when it is done: a graph may outlive its memory.
bool has_memory(Context& context, CUdeviceptr address, std::size_t bytes, const char* copy) {
  if (card_of(reinterpret_cast<const void*>(address), bytes) == context.device) return true;
  fail_later(context, CUDA_ERROR_ILLEGAL_ADDRESS,
             std::string(copy) + ": the device's memory was freed before it was done");
  return false;
}

bool still_pinned(Context& context, const void* data, std::size_t bytes, const char* copy) {
  if (is_pinned(data, bytes)) return true;
  fail_later(context, CUDA_ERROR_ILLEGAL_ADDRESS,
             std::string(copy) + ": the host's memory was freed before it was done");
  return false;
}

std::shared_ptr<DriverStream> stream_for_copy(CUstream handle, CUdeviceptr address, std::size_t bytes, CUresult& code) {
  auto stream = stream_for_call(handle, code);
  if (!stream) return nullptr;
  if (bytes > 0 && card_of(reinterpret_cast<const void*>(address), bytes) == stream->context.device) return stream;
  code = CUDA_ERROR_INVALID_VALUE;
  return nullptr;
}

std::byte* at(CUdeviceptr address) {
  return static_cast<std::byte*>(for_work(reinterpret_cast<const void*>(address)));
}

}  // namespace

bool is_pinned(const void* data, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  const std::lock_guard lock(pinned_mutex);
  auto next = pinned().upper_bound(begin);
  if (next == pinned().begin()) return false;
  --next;
  return begin + bytes <= next->first + next->second.bytes;
}

}  // namespace made_up::cuda

using namespace made_up::cuda;

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  if (const CUresult code = begin_unsafe_call(); code != CUDA_SUCCESS) return code;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  try {
    *address = reinterpret_cast<CUdeviceptr>(made_up::allocate(current_context()->device, bytes));
    return CUDA_SUCCESS;
  } catch (const made_up::OutOfMemory&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult cuMemFree(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  if (const CUresult code = begin_unsafe_call(); code != CUDA_SUCCESS) return code;
  auto* block = reinterpret_cast<void*>(address);
  if (made_up::card_of(block) < 0) return CUDA_ERROR_INVALID_VALUE;
  made_up::release(block);
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost(void** data, std::size_t bytes) {
  if (const CUresult code = begin_unsafe_call(); code != CUDA_SUCCESS) return code;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t whole = rounded_up(bytes, kAlignment), pages = rounded_up(whole, kPage);
  void* made = mmap(nullptr, pages + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  auto* mapping = static_cast<std::byte*>(made);
  std::fill_n(reinterpret_cast<float*>(made), pages / sizeof(float), std::numeric_limits<float>::quiet_NaN());
  mprotect(mapping + pages, kPage, PROT_NONE);  // its end is a page's
  *data = mapping + pages - whole;
  const std::lock_guard lock(pinned_mutex);
  pinned()[mapping + pages - whole] = {mapping, pages + kPage, bytes};
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void* data) {
  if (const CUresult code = begin_unsafe_call(); code != CUDA_SUCCESS) return code;
  const std::lock_guard lock(pinned_mutex);
  const auto found = pinned().find(static_cast<const std::byte*>(data));
  if (found == pinned().end()) return CUDA_ERROR_INVALID_VALUE;
  munmap(found->second.mapping, found->second.mapped_bytes);
  pinned().erase(found);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream handle) {
  CUresult code = CUDA_SUCCESS;
  const auto stream = stream_for_copy(handle, to, bytes, code);
  if (!stream) return code;
  Context& context = stream->context;
  if (is_pinned(from, bytes)) {
    count("pinned copies in");
    stream->stream.queue([=, &context] {
      if (!still_pinned(context, from, bytes, "a copy in") || !has_memory(context, to, bytes, "a copy in")) return;
      std::memcpy(at(to), from, bytes);
    });
    return CUDA_SUCCESS;
  }
  count("pageable copies in");
  const auto* values = static_cast<const std::byte*>(from);
  auto staged = std::make_shared<std::vector<std::byte>>(values, values + bytes);
  stream->stream.queue([=, &context] {
    if (has_memory(context, to, bytes, "a copy in")) std::memcpy(at(to), staged->data(), bytes);
  });
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream handle) {
  CUresult code = CUDA_SUCCESS;
  const auto stream = stream_for_copy(handle, from, bytes, code);
  if (!stream) return code;
  Context& context = stream->context;
  const bool later = is_pinned(to, bytes);
  count(later ? "pinned copies out" : "pageable copies out");
  stream->stream.queue([=, &context] {
    if (later && !still_pinned(context, to, bytes, "a copy out")) return;
    if (has_memory(context, from, bytes, "a copy out")) std::memcpy(to, at(from), bytes);
  });
  if (!later && stream->capture == Capture::kNone) stream->stream.wait();
  return context.fault;
}

}  // extern "C"
