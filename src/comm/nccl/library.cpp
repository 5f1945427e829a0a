#include "comm/nccl/library.h"

#include <dlfcn.h>

#include <type_traits>

namespace evener::comm::nccl {
namespace {

struct Opened {
  Opened() {
    // If LibTorch has loaded its own NCCL, dlopen returns that one. Never closed, since the library has threads.
    void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      why = "libnccl.so.2 is not found: './evener --with-cuda setup' fetches it";
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr && why.empty()) why = std::string("libnccl.so.2 is too old (it has no ") + name + ")";
    };
    find(calls.version, "ncclGetVersion");
    find(calls.unique_id, "ncclGetUniqueId");
    find(calls.init_rank, "ncclCommInitRank");
    find(calls.all_reduce, "ncclAllReduce");
    find(calls.group_start, "ncclGroupStart");
    find(calls.group_end, "ncclGroupEnd");
    find(calls.async_error, "ncclCommGetAsyncError");
    find(calls.abort, "ncclCommAbort");
    find(calls.destroy, "ncclCommDestroy");
    find(calls.error_text, "ncclGetErrorString");
  }
  Calls calls{};
  std::string why;
};

}  // namespace

const Calls* calls(std::string& why) {
  static const Opened opened;
  why = opened.why;
  return why.empty() ? &opened.calls : nullptr;
}

}  // namespace evener::comm::nccl
