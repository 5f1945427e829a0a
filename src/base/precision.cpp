#include "base/precision.h"

#include <algorithm>

#include "base/error.h"
#include "base/names.h"

namespace evener {
namespace {

constexpr const char* kPrecisions[] = {"fp32", "tf32", "bf16", "fp16"};

}  // namespace

const char* precision_name(Precision precision) {
  return name_in(kPrecisions, precision);
}

Precision parse_precision(const std::string& name) {
  if (name == "int8") {
    throw UsageError(
        "no precision 'int8': a network has to be quantised for it; 'evener quantize MODEL --data D' makes one of 8 "
        "bits, which then runs as it is, and 'evener train --quantize int8' trains one");
  }
  return value_named<Precision>(kPrecisions, "precision", name);
}

int activation_bits(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16 ? 16 : 32;
}

Precision computed_precision(Precision asked, DeviceKind kind) {
  if (kind != DeviceKind::kCpu) return asked;
  if (asked == Precision::kFp16) return Precision::kBf16;
  if (asked == Precision::kTf32) return Precision::kFp32;
  return asked;
}

std::string precision_fallback(Precision asked, DeviceKind kind) {
  const Precision computed = computed_precision(asked, kind);
  if (computed == asked) return "";
  const char* reason = asked == Precision::kFp16 ? "the CPU has no fast fp16 products" : "the CPU has no TF32 products";
  return std::string(precision_name(asked)) + " was computed as " + precision_name(computed) + ": " + reason;
}

bool has_fast_bf16(const std::vector<std::string>& features) {
  return std::ranges::any_of(features, [](const auto& name) { return name == "avx512_bf16" || name == "amx_bf16"; });
}

}  // namespace evener
