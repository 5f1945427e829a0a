#include "engine/engine.h"

#include <malloc.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "base/module.h"

namespace evener::engine {

int optimizer_slots(const OptimizerOptions& options) {
  const int moments = options.kind == OptimizerKind::kAdamW ? 2 : options.momentum != 0 ? 1 : 0;
  return moments + (options.average_decay != 0 ? 1 : 0);
}

const char* optimizer_name(OptimizerKind kind) {
  return kind == OptimizerKind::kAdamW ? "adamw" : "sgd";
}

std::string Engine::trainer_refusal(const network::Network& /*network*/, const TrainerOptions& /*options*/) const {
  return std::string("the engine '") + name() + "' runs networks, but trains none; use another --engine";
}

std::size_t Engine::shared_bytes(const network::Network& /*network*/, const TrainerOptions& /*options*/,
                                 int /*replicas*/) const {
  return 0;
}

std::unique_ptr<Trainer> Engine::make_trainer(const network::Network& network, const TrainerOptions& options) {
  throw Error(trainer_refusal(network, options));
}

std::string Engine::runner_refusal(const network::Network& /*network*/, const RunnerOptions& /*options*/) const {
  return std::string("the engine '") + name() + "' trains networks, but has no runner for them; use another --engine";
}

std::vector<std::unique_ptr<Runner>> Engine::make_runners(const network::Network& network, const TensorMap& /*state*/,
                                                          const RunnerOptions& options, int /*count*/) {
  throw Error(runner_refusal(network, options));
}

std::string call_refusal(const RunnerOptions& options) {
  if (options.batch < 1) return "a runner takes one image a call at least, not " + std::to_string(options.batch);
  if (options.in_flight < 1) {
    return "a runner has one call under way at least, not " + std::to_string(options.in_flight);
  }
  if (options.threads < 1) return "a runner computes with one thread at least, not " + std::to_string(options.threads);
  return "";
}

std::unique_ptr<ModelFile> Engine::open_model_file(const std::filesystem::path& path) {
  throw Error("the engine '" + std::string(name()) + "' doesn't read '" + path.string() +
              "': files of other programs are for --engine openvino");
}

std::string Engine::matrix_refusal(const MatrixOptions& /*options*/) const {
  return "the engine '" + std::string(name()) +
         "' computes whole networks, no products of matrices; use --engine torch";
}

std::unique_ptr<MatrixProduct> Engine::make_matrix_product(const MatrixOptions& options) {
  throw Error(matrix_refusal(options));
}

std::uint64_t copied_matrix_bytes(const MatrixOptions& options) {
  const auto values = static_cast<std::uint64_t>(options.size) * static_cast<std::uint64_t>(options.size);
  return options.precision == Precision::kFp32 ? 0 : 3 * 2 * values;
}

std::vector<LayerTime> Runner::layer_times() const {
  throw Error("this engine doesn't tell what its layers take");
}

void Runner::start_of_size(const ImageSpan& /*images*/, std::int64_t /*count*/, std::int64_t height,
                           std::int64_t width) {
  throw Error("a runner that was made for one size was given images of " + std::to_string(width) + "x" +
              std::to_string(height));
}

void Runner::start_stage(const std::vector<HostTensor>& /*received*/) {
  throw Error("a runner of a whole network was given what a stage of one takes");
}

void share_one_heap() {
  mallopt(M_ARENA_MAX, 1);
}

std::string usual_runner_engine(DeviceKind kind) {
  return kind == DeviceKind::kCpu && module_status("openvino").state == ModuleState::kUsable ? "openvino" : "torch";
}

std::unique_ptr<Engine> open_engine(const std::string& name) {
  // The blocks of one training step are those of the next. glibc gives each block above 32 MB back to the system, which
  // then has to clear its pages again: two fifths of MobileNetV2's step. Keeping them costs no memory beyond the peak.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  return std::unique_ptr<Engine>(static_cast<Engine*>(require_module(name).create()));
}

StepReport Trainer::step(const data::Batch& batch, double weight, double learning_rate) {
  if (StepsAhead* ahead = capabilities().ahead) return ahead->step_ahead(batch, weight, learning_rate);
  return step_by_parts(batch, weight, learning_rate);
}

StepReport Trainer::settle() {
  StepsAhead* ahead = capabilities().ahead;
  return ahead != nullptr ? ahead->settle_steps() : StepReport{};
}

std::optional<std::uint32_t> culprit_of(const Capabilities& capabilities) {
  return capabilities.detector != nullptr ? capabilities.detector->culprit() : std::nullopt;
}

StepReport Trainer::step_by_parts(const data::Batch& batch, double weight, double learning_rate) {
  StepReport report{forward_backward(batch, weight), 1, true};
  if (!std::isfinite(report.sums.total("loss"))) return {{}, 0, false, culprit_of(capabilities())};
  apply(learning_rate);
  return report;
}

PixelScale make_pixel_scale(const std::vector<float>& mean, const std::vector<float>& standard_deviation,
                            std::int64_t channels) {
  PixelScale map;
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const float middle = c < mean.size() ? mean[c] : 0.0f;
    const float deviation = c < standard_deviation.size() ? standard_deviation[c] : 1.0f;
    map.scale.push_back(1.0f / (255.0f * deviation));
    map.shift.push_back(-middle / deviation);
  }
  return map;
}

}  // namespace evener::engine
