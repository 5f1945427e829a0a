#include "engine/native/kernels.h"

#include "engine/native/levels.h"

namespace evener::engine::native {
namespace {

enum class Level { kBaseline, kAvx2, kAvx512 };

Level detect() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return Level::kAvx512;
  }
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Level::kAvx2 : Level::kBaseline;
}

Level level() {
  static const Level found = detect();
  return found;
}

}  // namespace

const Kernels& float_kernels() {
  if (level() == Level::kAvx512) return avx512::table;
  return level() == Level::kAvx2 ? avx2::table : baseline::table;
}

const Kernels* bfloat16_kernels() {
  const bool usable = level() == Level::kAvx512 && __builtin_cpu_supports("avx512bf16");
  return usable ? &avx512_bf16::table : nullptr;
}

const char* kernel_level() {
  if (level() == Level::kAvx512) return "avx512";
  return level() == Level::kAvx2 ? "avx2" : "baseline";
}

}  // namespace evener::engine::native
