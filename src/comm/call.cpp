#include "comm/call.h"

namespace evener::comm {
namespace {

constexpr int kRootShift = 48, kKindShift = 60;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kRootShift) - 1, kRootMask = 0xfff;

}  // namespace

std::uint64_t Call::packed() const {
  return (count & kCountMask) | (static_cast<std::uint64_t>(root) & kRootMask) << kRootShift |
         static_cast<std::uint64_t>(kind) << kKindShift;
}

Call Call::unpacked(std::uint64_t word) {
  return {static_cast<Kind>(word >> kKindShift), static_cast<int>(word >> kRootShift & kRootMask), word & kCountMask};
}

std::string Call::text() const {
  const std::string many = std::to_string(count);
  switch (kind) {
    case Kind::kAllReduceFloat32:
      return "an all_reduce of " + many + " float32 values";
    case Kind::kAllReduceBFloat16:
      return "an all_reduce of " + many + " float32 values sent as bf16";
    case Kind::kAllReduceFloat64:
      return "an all_reduce of " + many + " float64 values";
    case Kind::kBroadcast:
      return "a broadcast of " + many + " bytes from rank " + std::to_string(root);
    case Kind::kNone:
      break;
  }
  return "a barrier";
}

}  // namespace evener::comm
