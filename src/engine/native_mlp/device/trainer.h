// Trainer of perceptrons on an accelerator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/native_mlp/cpu/mlp_trainer.h"
#include "engine/native_mlp/cpu/parameters.h"
#include "engine/native_mlp/device/feed.h"
#include "engine/native_mlp/device/mlp.h"
#include "engine/native_mlp/device/steps.h"

namespace evener::engine::native_mlp {

/// Why this engine can't train the perceptron on such a device; "" if it can. Whether the device exists is only found
/// out when a trainer is made.
std::string why_not_on_device(const network::Network& network, const TrainerOptions& options);

/// Weights, momentum and images stay on the device. Gradients go through the host only where somebody wants them:
/// other replicas, clipping, several batches of one step.
class DeviceTrainer : public MlpTrainer, public ReportsDevice {
 public:
  DeviceTrainer(const network::Network& network, const TrainerOptions& options);
  ~DeviceTrainer() override;

  Sums add_gradients(const data::Batch& batch, double weight) override;
  void apply(double learning_rate) override;
  Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) override;
  TensorMap state() const override;
  void load_state(const TensorMap& state) override;
  TensorMap optimizer_state() const override;
  void load_optimizer_state(const TensorMap& state) override;
  Capabilities capabilities() override;

  StepReport step_ahead(const data::Batch& batch, double weight, double learning_rate) override;
  StepReport settle_steps() override { return steps_.settle(); }
  DeviceReport report() const override;
  void swap_average() override;

 private:
  DeviceBatch put(const data::Batch& batch, double weight);
  void fetch_result();
  Sums result_of(std::int64_t count);
  void fetch_gradients(std::size_t layer);
  void send_gradients();
  Array download(const DeviceMemory& memory) const;
  void upload(DeviceMemory& memory, const Array& array);
  Header begin_update(double learning_rate, double weight);

  const Parameters device_parameters_;  // of the device's arrays
  const std::unique_ptr<Accelerator> accelerator_;
  DeviceMlp mlp_;
  DeviceFeed feed_;
  DeviceSteps steps_;
  // Gradients in the device's layout, and a result, in host memory that the device can copy to asynchronously.
  const std::unique_ptr<HostMemory> staging_, result_;
  const Array staged_;
  std::unique_ptr<Moment> result_landed_;
};

}  // namespace evener::engine::native_mlp
