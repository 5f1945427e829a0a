#include "engine/kernels/kernels.h"

#include "engine/kernels/levels.h"

namespace evener::engine::kernels {
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

bool depthwise_supported(std::int64_t kernel, std::int64_t padding) {
  return (kernel == 3 || kernel == 5 || kernel == 7) && padding < kernel;
}

const Kernels<float>& float_kernels() {
  if (level() == Level::kAvx512) return avx512::float_table;
  return level() == Level::kAvx2 ? avx2::float_table : baseline::float_table;
}

const Kernels<BFloat16>& bfloat16_kernels() {
  if (level() == Level::kAvx512) return avx512::bfloat16_table;
  return level() == Level::kAvx2 ? avx2::bfloat16_table : baseline::bfloat16_table;
}

const char* kernel_level() {
  if (level() == Level::kAvx512) return "avx512";
  return level() == Level::kAvx2 ? "avx2" : "baseline";
}

}  // namespace evener::engine::kernels
