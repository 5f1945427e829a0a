// The module's entry, which base/module.h looks for, and the Engine that it creates.
#include <openvino/core/version.hpp>

#include "base/module_entry.h"
#include "engine/engine.h"
#include "engine/openvino/compiled.h"
#include "engine/openvino/lower.h"
#include "engine/openvino/model_file.h"
#include "network/passes/fold_batch_norm.h"

namespace evener::engine::openvino_engine {
namespace {

class OpenVinoEngine : public Engine {
 public:
  const char* name() const override { return "openvino"; }

  std::string runner_refusal(const network::Network& /*network*/, const RunnerOptions& options) const override {
    if (options.batch < 1) return "a runner takes one image a call at least, not " + std::to_string(options.batch);
    if (options.in_flight < 1) {
      return "a runner has one call under way at least, not " + std::to_string(options.in_flight);
    }
    if (options.threads < 1) {
      return "a runner computes with one thread at least, not " + std::to_string(options.threads);
    }
    return device_refusal(options.device);
  }

  std::unique_ptr<Runner> make_runner(const network::Network& network, const TensorMap& state,
                                      const RunnerOptions& options) override {
    return std::move(make_runners(network, state, options, 1).front());
  }

  std::vector<std::unique_ptr<Runner>> make_runners(const network::Network& network, const TensorMap& state,
                                                    const RunnerOptions& options, int count) override {
    if (const std::string refusal = runner_refusal(network, options); !refusal.empty()) throw Error(refusal);
    network::NetworkWithState folded = network::fold_batch_norm(network, state);
    const auto weights = std::make_shared<const TensorMap>(std::move(folded.state));
    const auto graph = with_errors("OpenVINO can't describe " + network.model(),
                                   [&] { return lower(folded.network, weights, options.batch, options.any_size); });
    Feeding feeding;
    feeding.input.shape = network.input_shape();
    feeding.input.is_image = network.input_shape().size() == 3;
    for (const network::Output& output : network.outputs()) feeding.outputs.push_back(output.name);
    return compile(graph, feeding, options, count);
  }

  std::unique_ptr<ModelFile> open_model_file(const std::filesystem::path& path) override {
    return read_model_file(path);
  }
};

const char* version() {
  static const std::string text = std::string("OpenVINO ") + ov::get_openvino_version().buildNumber;
  return text.c_str();
}

}  // namespace
}  // namespace evener::engine::openvino_engine

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::engine::Engine, evener::engine::openvino_engine::OpenVinoEngine>(
        evener::engine::openvino_engine::version);
}
