#include "engine/engine.h"

#include "base/module.h"

namespace evener::engine {

const char* precision_name(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return "fp32";
    case Precision::kBf16: return "bf16";
    case Precision::kFp16: return "fp16";
  }
  return "?";
}

const char* loss_name(Loss loss) { return loss == Loss::kMse ? "mse" : "cross-entropy"; }

std::unique_ptr<Engine> open_engine(const std::string& name) {
  return std::unique_ptr<Engine>(static_cast<Engine*>(require_module(name).create()));
}

}  // namespace evener::engine
