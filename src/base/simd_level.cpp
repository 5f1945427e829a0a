#include "base/simd_level.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace evener {
namespace {

SimdLevel detect() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return SimdLevel::kAvx512;
  }
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? SimdLevel::kAvx2 : SimdLevel::kBaseline;
}

/// What EVENER_SIMD says.
std::string_view named_level() {
  const char* const text = std::getenv("EVENER_SIMD");
  return text == nullptr ? "" : text;
}

bool is_like_zen4() {
  return named_level() == "avx512_bf16";
}

/// Leaf 7 of CPUID, read directly since compilers differ in the feature names that they know.
struct Features {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;

  explicit Features(unsigned part) { __get_cpuid_count(7, part, &eax, &ebx, &ecx, &edx); }
};

}  // namespace

SimdLevel widest_allowed_simd() {
  const std::string_view level = named_level();
  return level == "baseline" ? SimdLevel::kBaseline : level == "avx2" ? SimdLevel::kAvx2 : SimdLevel::kAvx512;
}

SimdLevel simd_level() {
  static const SimdLevel found = std::min(detect(), widest_allowed_simd());
  return found;
}

const char* simd_level_name() {
  if (simd_level() == SimdLevel::kAvx512) return "avx512";
  return simd_level() == SimdLevel::kAvx2 ? "avx2" : "baseline";
}

bool has_bfloat16_products() {
  return simd_level() == SimdLevel::kAvx512 && __builtin_cpu_supports("avx512bf16");
}

bool fast_bfloat16_products() {
  return has_bfloat16_products() && (__builtin_cpu_is("amd") || is_like_zen4());
}

bool has_int8_products() {
  constexpr unsigned kAvxVnni = 1U << 4;
  if (widest_allowed_simd() != SimdLevel::kAvx512 || simd_level() == SimdLevel::kBaseline) return false;
  // Processors with AMX have AVX512-VNNI too.
  return __builtin_cpu_supports("avx512vnni") || (Features(1).eax & kAvxVnni) != 0;
}

bool has_bfloat16_tiles() {
  // The kernel saves tile registers only for processes that asked for them (Linux 5.16); threads and children inherit.
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  constexpr unsigned kAmxBf16 = 1U << 22;
  static const bool found = simd_level() == SimdLevel::kAvx512 && !is_like_zen4() &&
                            (Features(0).edx & kAmxBf16) != 0 &&
                            syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return found;
}

}  // namespace evener
