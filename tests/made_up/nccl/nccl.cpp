// A made-up libnccl.so.2: ranks of one host, whose streams are made-up ones (made_up/card.h), sum through shared
// memory. As the real one it waits for ranks that are lost until it is told to stop, and then leaves whatever there is.
// The function that MADE_UP_NCCL_FAILS names does nothing but fail. MADE_UP_NCCL_VERSION: its version, else 22809.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/nccl/library.h"
#include "made_up/card.h"

namespace {

using evener::comm::nccl::kFloat32;
using evener::comm::nccl::kFloat64;
using evener::comm::nccl::kSuccess;
using evener::comm::nccl::kSum;
using evener::comm::nccl::UniqueId;

constexpr int kInvalidArgument = 4, kInvalidUsage = 5, kSystemError = 2;  // ncclResult_t
constexpr int kMostRanks = 8;
constexpr std::size_t kPiece_bytes = std::size_t{1} << 20;  // of each rank, at a time

/// What the ranks of a group share.
struct Board {
  std::atomic<int> joined, arrived[2];
  std::atomic<std::uint64_t> what[kMostRanks];  // each does: count and type
  alignas(64) std::byte values[kMostRanks][kPiece_bytes];
};

struct Part {
  void* values;
  std::size_t count;
  int type;
};

}  // namespace

namespace evener::comm::nccl {

struct NcclComm {
  Board* board = nullptr;
  int rank = 0, ranks = 1, card = 0;
  std::atomic<bool> aborted{false};
  std::atomic<int> failure{kSuccess};
  std::uint64_t phase = 0;  // of the board; on the stream's thread

  bool wait_for(const std::atomic<int>& value, int wanted) const {
    while (value < wanted) {
      if (aborted) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }

  /// All ranks are here. False: called off.
  bool meet() {
    const std::uint64_t round = phase++;
    std::atomic<int>& arrived = board->arrived[round % 2];
    ++arrived;
    return wait_for(arrived, static_cast<int>(round / 2 + 1) * ranks);
  }

  template <class Value>
  bool sum(Value* values, std::size_t count) {
    for (std::size_t begin = 0; begin < count; begin += kPiece_bytes / sizeof(Value)) {
      const std::size_t piece = std::min(count - begin, kPiece_bytes / sizeof(Value));
      board->what[rank] = piece * 2 + (sizeof(Value) == 8 ? 1 : 0);
      std::memcpy(board->values[rank], values + begin, piece * sizeof(Value));
      if (!meet()) return false;
      for (int r = 0; r < ranks; ++r) {
        if (board->what[r] == board->what[rank]) continue;
        failure = kInvalidUsage;  // the real one hangs, or mixes them up
        return false;
      }
      for (std::size_t i = 0; i < piece; ++i) {
        Value total = 0;
        for (int r = 0; r < ranks; ++r) {
          Value value;
          std::memcpy(&value, board->values[r] + i * sizeof value, sizeof value);
          total += value;
        }
        values[begin + i] = total;
      }
      if (!meet()) return false;
    }
    return true;
  }

  void do_all(const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      void* const at = made_up::for_work(part.values);
      const bool good =
          part.type == kFloat32 ? sum(static_cast<float*>(at), part.count) : sum(static_cast<double*>(at), part.count);
      if (!good) return;
    }
  }
};

}  // namespace evener::comm::nccl

namespace {

using evener::comm::nccl::NcclComm;

bool fails(const char* function) {
  const char* const failing = std::getenv("MADE_UP_NCCL_FAILS");
  return failing != nullptr && std::strcmp(failing, function) == 0;
}

struct Group {
  int depth = 0;
  NcclComm* communicator = nullptr;
  made_up::Stream* stream = nullptr;
  std::vector<Part> parts;
};
thread_local Group group;

int launch() {
  NcclComm* const communicator = group.communicator;
  if (communicator == nullptr) return kSuccess;
  group.stream->queue([communicator, parts = group.parts] { communicator->do_all(parts); });
  group.parts.clear();
  group.communicator = nullptr;
  return kSuccess;
}

/// Keeps a communicator for as long as the process lives: work that is still queued asks it, also after its end.
NcclComm* keep(std::unique_ptr<NcclComm> communicator) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<NcclComm>>;  // threads may end after static objects
  const std::lock_guard lock(mutex);
  return kept.emplace_back(std::move(communicator)).get();
}

std::string file_of(const UniqueId& id) {
  return "/made_up_nccl_" + std::string(id.bytes);
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  if (fails("ncclGetVersion")) return kSystemError;
  const char* const other = std::getenv("MADE_UP_NCCL_VERSION");
  *version = other != nullptr ? std::atoi(other) : 22809;
  return kSuccess;
}

int ncclGetUniqueId(UniqueId* id) {
  if (fails("ncclGetUniqueId")) return kSystemError;
  std::random_device random;
  std::memset(id->bytes, 0, sizeof id->bytes);
  std::snprintf(id->bytes, sizeof id->bytes, "%d_%08x%08x", getpid(), random(), random());
  return kSuccess;
}

int ncclCommInitRank(NcclComm** communicator, int ranks, UniqueId id, int rank) {
  if (fails("ncclCommInitRank")) return kSystemError;
  if (ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks) return kInvalidArgument;
  try {
    made_up::require_usable();
  } catch (const made_up::Refused&) {
    return kSystemError;
  }
  const int file = shm_open(file_of(id).c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Board)) != 0) return kSystemError;
  void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return kSystemError;
  NcclComm* const made = keep(std::make_unique<NcclComm>());
  made->board = static_cast<Board*>(memory);  // zeros at first
  made->rank = rank;
  made->ranks = ranks;
  ++made->board->joined;
  made->wait_for(made->board->joined, ranks);
  shm_unlink(file_of(id).c_str());
  *communicator = made;
  return kSuccess;
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation, NcclComm* communicator,
                  void* stream) {
  if (fails("ncclAllReduce")) return kSystemError;
  if (from != to || operation != kSum || (type != kFloat32 && type != kFloat64)) return kInvalidArgument;
  if (communicator == nullptr || communicator->aborted || stream == nullptr) return kInvalidArgument;
  const std::size_t bytes = count * (type == kFloat32 ? 4 : 8);
  if (count > 0 && made_up::card_of(to, bytes) < 0) return kInvalidArgument;  // not in one block of a card's memory
  if (group.communicator != nullptr && group.communicator != communicator) return kInvalidUsage;
  group.communicator = communicator;
  group.stream = static_cast<made_up::Stream*>(stream);
  group.parts.push_back({to, count, type});
  return group.depth > 0 ? kSuccess : launch();
}

int ncclGroupStart() {
  if (fails("ncclGroupStart")) return kSystemError;
  ++group.depth;
  return kSuccess;
}

int ncclGroupEnd() {
  if (--group.depth > 0) return kSuccess;
  const int code = launch();
  return fails("ncclGroupEnd") ? kSystemError : code;
}

int ncclCommGetAsyncError(NcclComm* communicator, int* error) {
  if (fails("ncclCommGetAsyncError")) return kSystemError;
  *error = communicator->failure;
  return kSuccess;
}

int ncclCommAbort(NcclComm* communicator) {
  communicator->aborted = true;
  return kSuccess;
}

int ncclCommDestroy(NcclComm* communicator) {
  communicator->aborted = true;
  return kSuccess;
}

const char* ncclGetErrorString(int code) {
  switch (code) {
    case kSuccess:
      return "no error";
    case kSystemError:
      return "unhandled system error";
    case kInvalidArgument:
      return "invalid argument";
    case kInvalidUsage:
      return "invalid usage";
    default:
      return "unknown result code";
  }
}
}
