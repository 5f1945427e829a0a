// The late device: a made-up card (made_up/card.h) as a device of LibTorch's, which runs its CPU kernels on it. Built
// as a module torch_cuda of its own, so that what is written for GPUs runs on it unchanged.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

#include <cstdint>

#include "made_up/card.h"

namespace made_up::late {

inline constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;

/// What `body` returns. What a card refuses becomes LibTorch's error.
template <class Body>
auto asked(const Body& body) {
  try {
    return body();
  } catch (const OutOfMemory& error) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
  } catch (const Refused& error) {
    TORCH_CHECK(false, error.what());
  }
}

/// The calling thread's.
c10::DeviceIndex current_card();
c10::Stream current_stream(c10::DeviceIndex card);
/// Stream 0 is the default one. They live as long as the process.
Stream& stream_of(const c10::Stream& stream);
Stream& stream_now(c10::DeviceIndex card);

/// Memory that a recording allocates while `stream` is recorded. It is nobody else's until release_pool().
std::uint64_t begin_pool(Stream& stream);
void end_pool(std::uint64_t pool);
void release_pool(std::uint64_t pool);
c10::DeviceAllocator& memory();

/// Work of `stream` uses the host's memory at `address`; nothing is to be done where that isn't pinned.
void use_pinned(const void* address, Stream& stream);
bool is_pinned(const void* address);

bool is_late(const at::Tensor& tensor);
/// The CPU's tensor on the same memory, for a stream's work. It keeps nothing alive.
at::Tensor alias_of(const at::Tensor& tensor);

}  // namespace made_up::late
