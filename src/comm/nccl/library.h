// The functions of libnccl.so.2 that evener uses, opened at run time and declared by hand
// (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html).
#pragma once

#include <cstddef>
#include <string>

namespace evener::comm::nccl {

using Communicator = struct NcclComm*;
using Stream = void*;  // cudaStream_t
struct UniqueId {
  char bytes[128];
};

constexpr int kSuccess = 0, kInProgress = 7;
constexpr int kFloat32 = 7, kFloat64 = 8;  // ncclDataType_t
constexpr int kSum = 0;                    // ncclRedOp_t

/// Each returns kSuccess, or an error that error_text() describes.
struct Calls {
  int (*version)(int*);
  int (*unique_id)(UniqueId*);
  int (*init_rank)(Communicator*, int ranks, UniqueId, int rank);
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int operation, Communicator, Stream);
  int (*group_start)();
  int (*group_end)();
  int (*async_error)(Communicator, int*);
  int (*abort)(Communicator);
  int (*destroy)(Communicator);
  const char* (*error_text)(int);
};

/// Null, with the reason in `why`, where the library is missing or lacks a function.
const Calls* calls(std::string& why);

}  // namespace evener::comm::nccl
