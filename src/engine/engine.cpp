#include "engine/engine.h"

#include <malloc.h>

#include <cstdlib>
#include <limits>

#include "base/module.h"

namespace evener::engine {

const char* loss_name(Loss loss) {
  return loss == Loss::kMse ? "mse" : "cross-entropy";
}

const char* optimizer_name(OptimizerKind kind) {
  return kind == OptimizerKind::kAdamW ? "adamw" : "sgd";
}

void share_one_heap() {
  mallopt(M_ARENA_MAX, 1);
}

std::unique_ptr<Engine> open_engine(const std::string& name) {
  // OpenMP's threads spin while they wait for each other, by default for milliseconds. On a machine that does something
  // else too, a spinning thread takes the CPU that the awaited one needs, and a step takes ten times as long. Sleeping
  // at once costs small networks half their speed; a short spin is the compromise (5000: full speed on a quiet
  // machine). Has to stand before the library that brings OpenMP is loaded; what the user set stays.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "5000", /*overwrite=*/0);
  // The blocks of one training step are those of the next. glibc gives each block above 32 MB back to the system, which
  // then has to clear its pages again: two fifths of MobileNetV2's step. Keeping them costs no memory beyond the peak.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  return std::unique_ptr<Engine>(static_cast<Engine*>(require_module(name).create()));
}

}  // namespace evener::engine
