// The number formats that a network's layers compute in: their names and bits, and which one a device uses in place of
// one that it lacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/device.h"

namespace evener {

/// TF32 is float32 whose products are rounded to 10 bits of mantissa, on CUDA.
enum class Precision : std::uint8_t { kFp32, kTf32, kBf16, kFp16 };

const char* precision_name(Precision precision);
/// Throws UsageError, naming the nearest.
Precision parse_precision(const std::string& name);

/// Bits of each value that one layer hands on to the next: 32 or 16. Weights and gradients always have 32.
int activation_bits(Precision precision);

/// The precision that a device of this kind computes in when `asked` is asked for: CPUs have no fast fp16 products and
/// no TF32, so they use bf16 and fp32 instead.
Precision computed_precision(Precision asked, DeviceKind kind);
/// Why computed_precision() differs, in the words of a record: "fp16 was computed as bf16: ...". "" where it doesn't.
std::string precision_fallback(Precision asked, DeviceKind kind);

/// Whether a CPU with these features (CpuTopology::features) multiplies bf16 faster than fp32.
bool has_fast_bf16(const std::vector<std::string>& features);

}  // namespace evener
