// The module's entry, which base/module.h looks for, and the Engine that it creates.
#include <string>

#include "base/module_entry.h"
#include "base/simd_level.h"
#include "engine/native_mlp/cpu/kernels.h"
#include "engine/native_mlp/parts.h"

namespace evener::engine::native_mlp {
namespace {

class NativeEngine : public Engine {
 public:
  const char* name() const override { return "native"; }

  std::string trainer_refusal(const network::Network& network, const TrainerOptions& options) const override {
    return why_not(network, options);
  }

  std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options,
                           int replicas) const override {
    return native_mlp::shared_bytes(network, options, replicas);
  }

  std::unique_ptr<Trainer> make_trainer(const network::Network& network, const TrainerOptions& options) override {
    return native_mlp::make_trainer(network, options);
  }

  std::string matrix_refusal(const MatrixOptions& options) const override {
    return native_mlp::matrix_refusal(options);
  }

  std::unique_ptr<MatrixProduct> make_matrix_product(const MatrixOptions& options) override {
    if (const std::string refusal = native_mlp::matrix_refusal(options); !refusal.empty()) throw Error(refusal);
    return native_mlp::make_matrix_product(options);
  }
};

const char* version() {
  static const std::string text =
      std::string("kernels for ") + simd_level_name() + (bfloat16_kernels() != nullptr ? " with bf16" : "");
  return text.c_str();
}

}  // namespace

EVENER_MODULE(Engine, NativeEngine, version);

}  // namespace evener::engine::native_mlp
