#include "comm/device_communicator.h"

#include <dlfcn.h>

#include <cstring>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "comm/nccl/library.h"

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

/// The first call decides for the whole process: load the module torch_cuda, which brings the library, before it.
const Calls* calls(std::string& why) {
  static const Opened opened;
  why = opened.why;
  return why.empty() ? &opened.calls : nullptr;
}

}  // namespace evener::comm::nccl

namespace evener::comm {
namespace {

const nccl::Calls& require_calls() {
  std::string why;
  const nccl::Calls* const calls = nccl::calls(why);
  if (calls == nullptr) throw Error("GPUs can't exchange what they computed: " + why);
  return *calls;
}

void check(const nccl::Calls& calls, int code, const char* call) {
  if (code == nccl::kSuccess || code == nccl::kInProgress) return;
  throw Error(std::string("NCCL: ") + call + " failed: " + calls.error_text(code) + "; NCCL_DEBUG=WARN tells more");
}

class NcclCommunicator : public DeviceCommunicator {
 public:
  NcclCommunicator(const nccl::Calls& calls, const DeviceGroupId& id, int rank, int ranks) : calls_(calls) {
    nccl::UniqueId given;
    std::memcpy(given.bytes, id.data(), id.size());
    check(calls_, calls_.init_rank(&communicator_, ranks, given, rank), "ncclCommInitRank");
  }
  ~NcclCommunicator() override {
    if (communicator_ != nullptr) calls_.destroy(communicator_);
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  void all_reduce(std::span<const DeviceVector> vectors, void* stream) override {
    if (communicator_ == nullptr) throw Error("the GPUs' exchange was called off");
    check(calls_, calls_.group_start(), "ncclGroupStart");
    int failed = nccl::kSuccess;
    for (const DeviceVector& vector : vectors) {
      const int type = vector.is_double ? nccl::kFloat64 : nccl::kFloat32;
      const int code =
          calls_.all_reduce(vector.values, vector.values, vector.count, type, nccl::kSum, communicator_, stream);
      if (failed == nccl::kSuccess) failed = code;
    }
    const int ended = calls_.group_end();  // also after a failed call, since the group would stay open
    check(calls_, failed, "ncclAllReduce");
    check(calls_, ended, "ncclGroupEnd");
  }

  std::string failure() override {
    if (communicator_ == nullptr) return "the GPUs' exchange was called off";
    int code = nccl::kSuccess;
    const int asked = calls_.async_error(communicator_, &code);
    if (asked != nccl::kSuccess) code = asked;
    if (code == nccl::kSuccess || code == nccl::kInProgress) return "";
    return std::string("NCCL: ") + calls_.error_text(code);
  }

  void abort() override {
    if (communicator_ != nullptr) calls_.abort(communicator_);
    communicator_ = nullptr;
  }

 private:
  const nccl::Calls& calls_;
  nccl::Communicator communicator_ = nullptr;
};

}  // namespace

std::string why_no_device_groups() {
  std::string why;
  nccl::calls(why);
  return why;
}

std::string device_group_version() {
  std::string why;
  const nccl::Calls* const calls = nccl::calls(why);
  int version = 0;
  if (calls == nullptr || calls->version(&version) != nccl::kSuccess) return "";
  // 22809 is 2.28.9; before 2.9 it was 2804.
  const int major = version >= 10000 ? version / 10000 : version / 1000;
  const int rest = version >= 10000 ? version % 10000 : version % 1000;
  return std::to_string(major) + "." + std::to_string(rest / 100) + "." + std::to_string(rest % 100);
}

DeviceGroupId make_device_group_id() {
  const nccl::Calls& calls = require_calls();
  nccl::UniqueId made{};
  check(calls, calls.unique_id(&made), "ncclGetUniqueId");
  DeviceGroupId id;
  std::memcpy(id.data(), made.bytes, id.size());
  return id;
}

std::unique_ptr<DeviceCommunicator> join_device_group(const DeviceGroupId& id, int rank, int ranks) {
  return std::make_unique<NcclCommunicator>(require_calls(), id, rank, ranks);
}

}  // namespace evener::comm
