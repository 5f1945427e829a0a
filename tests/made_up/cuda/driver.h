// What the calls of the made-up libcuda.so.1 share. Each call answers as CUDA's documentation has it, the strictest way
// where that leaves it open: a call that works there only by luck fails here.
#pragma once

#include <cuda.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "made_up/card.h"

namespace made_up::cuda {

/// A card's primary context. It stays in memory when it is gone, so that its handle can be told from others.
struct Context {
  int device = 0;
  std::atomic<int> uses{1};
  /// What went wrong in work that was done later: every call with this context says so from then on.
  std::atomic<CUresult> fault{CUDA_SUCCESS};
  bool is_gone() const { return uses <= 0; }
};

enum class Capture { kNone, kActive, kInvalid };

struct DriverStream {
  explicit DriverStream(Context& of) : context(of), stream(of.device) {}
  Context& context;
  Stream stream;
  std::atomic<Capture> capture{Capture::kNone};
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id captured_by;
};

/// Objects that handles stand for.
template <class Object>
class Handles {
 public:
  void* add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    void* handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }
  /// Null: there is none, or no more.
  std::shared_ptr<Object> find(const void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found != objects_.end() ? found->second : nullptr;
  }
  std::shared_ptr<Object> take(const void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    auto object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  template <class Each>
  void for_each(const Each& each) {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, object] : objects_) each(*object);
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<Object>> objects_;
};
Handles<DriverStream>& streams();

/// Of the calling thread; null: none.
Context* current_context();
/// Whether a call may go on: after cuInit, in no child of a process that used the driver.
CUresult begin_call();
/// The same with a current context in which nothing went wrong.
CUresult begin_call_in_context();
/// The same of a call that a capture forbids unless it is relaxed; captures that it meets are void from then on.
CUresult begin_unsafe_call();
/// The stream if the call may use it; otherwise `code` says why not.
std::shared_ptr<DriverStream> stream_for_call(CUstream handle, CUresult& code);
/// Says on stderr what went wrong in work of the context, which has a fault from now on.
void fail_later(Context& context, CUresult code, const std::string& what);

/// Whether the host's memory is pinned, all of it.
bool is_pinned(const void* data, std::size_t bytes);

/// Counts what tests ask for (made_up_cuda_count()).
void count(const std::string& what);

}  // namespace made_up::cuda
