#include "base/int8_products.h"

#include <cstdlib>
#include <string_view>

namespace evener {

bool has_int8_products() {
  const char* text = std::getenv("EVENER_SIMD");
  const std::string_view level = text == nullptr ? "" : text;
  if (level == "avx2" || level == "baseline") return false;
  // Processors with AMX have the first.
  return __builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni");
}

}  // namespace evener
