// Trainer on LibTorch: autograd for the gradients, a fused optimiser step. On the CPU each call does its work; another
// device is driven ahead (whole_steps.h), and has its gradients in host memory where replicas exchange them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/torch/convert.h"
#include "engine/torch/criterion.h"
#include "engine/torch/device.h"
#include "engine/torch/device_exchange.h"
#include "engine/torch/feed.h"
#include "engine/torch/graph.h"
#include "engine/torch/optimizer.h"
#include "engine/torch/shared_parameters.h"
#include "engine/torch/streams.h"
#include "engine/torch/whole_steps.h"

namespace evener::engine::torch_engine {

/// Built, used and destroyed on one thread: LibTorch's number of threads and OpenMP's workers belong to it.
class TorchTrainer : public Trainer,
                     public ExchangesGradients,
                     public StepsAhead,
                     public StepsOnDevices,
                     public SharesArrays,
                     public KeepsAverage,
                     public ReportsDevice,
                     public DetectsObjects,
                     public TimesLayers,
                     public TrainsStage {
 public:
  TorchTrainer(const network::Network& network, const TrainerOptions& options);
  ~TorchTrainer() override;

  void clear_gradients() override;
  Sums add_gradients(const data::Batch& batch, double weight) override;
  void apply(double learning_rate) override;
  Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) override;
  Sums end_evaluation(std::vector<std::int32_t>* predicted) override;
  TensorMap state() const override;
  void load_state(const TensorMap& state) override;
  TensorMap optimizer_state() const override;
  void load_optimizer_state(const TensorMap& state) override;
  Capabilities capabilities() override;

  const std::vector<std::string>& trained_parameters() const override { return trained_names_; }
  void on_gradient_ready(std::function<void(std::size_t)> callback) override { gradient_ready_ = std::move(callback); }
  void gradients_become_final(bool final) override { final_ = final; }
  std::span<float> gradient(std::size_t index) override;
  TensorMap gradients() const override;
  StepReport step_ahead(const data::Batch& batch, double weight, double learning_rate) override;
  StepReport settle_steps() override;
  StepReport step_on_devices(const data::Batch& share, const SharedBatch& batch, double learning_rate) override;
  void apply_part(double learning_rate, std::span<const int> members) override;
  void swap_average() override;
  DeviceReport report() const override;
  std::int64_t matches(const data::Batch& batch) const override;
  std::optional<std::uint32_t> culprit() const override { return culprit_; }
  Sums evaluate_outputs(const data::Batch& batch, std::vector<HostTensor>& outputs) override;
  std::vector<LayerTime> time_layers(const data::Batch& batch) override;
  Passed forward_stage(int micro_batch, const data::Batch& part, std::vector<StageValues> received) override;
  std::vector<StageValues> backward_stage(int micro_batch, std::vector<StageValues> gradients, double weight) override;
  void weights_stage(int micro_batch) override;
  void wait_for_stage() override;
  Passed evaluate_stage(const data::Batch& part, std::vector<StageValues> received,
                        std::vector<std::int32_t>* predicted) override;
  std::int64_t peak_bytes() const override;

 private:
  void share_parameters();
  void exchange_by_devices();
  void drive_device();
  /// The results of a forward pass; `count` is the number of samples or anchors that its sums are over.
  struct Pass {
    std::vector<at::Tensor> outputs;
    CriterionResult found;
    std::int64_t count = 0;
  };
  /// A micro-batch under way through this stage.
  struct StagePass {
    std::vector<at::Tensor> inputs, outputs;   // received from the stage before; to be sent to the next one
    CriterionResult found;                     // of the last stage
    c10::intrusive_ptr<LaterGradients> later;  // null: the backward pass computes all gradients
  };
  StagePass& under_way(int micro_batch, const char* what);
  at::Tensor stage_input(const data::Batch& part) const;
  TargetTensors stage_targets(const data::Batch& part) const;
  StagePass pass_stage(const data::Batch& part, std::vector<StageValues> received, bool training);
  CriterionResult forward(const BatchTensors& batch, bool training, std::vector<at::Tensor>* outputs = nullptr);
  Pass forward_on_host(const data::Batch& batch, bool training);
  Pass evaluated(const data::Batch& batch);
  Sums read(const CriterionResult& found, std::int64_t count, const data::Batch& batch);
  void backward(const at::Tensor& loss, const at::Tensor& weight);
  void update_unseen(const at::Tensor& learning_rate, const at::Tensor& stopped);
  Sums train_on(const data::Batch& batch, double weight);
  Sums train_device_on(const data::Batch& batch, double weight);
  void add_nothing();
  template <class Work>
  auto with_blank_image(std::uint64_t epoch, const Work& work);
  void train_on_nothing(std::uint64_t epoch);
  void watch_gradients();
  void gradient_computed(std::size_t index);
  void put_into_shared(std::size_t index);
  void tell_ready();
  std::span<float> gradient_on_host(std::size_t index);
  at::Tensor unscaled(std::size_t index) const;
  std::vector<at::Tensor> gradients_where(bool handed_out) const;

  TrainerOptions options_;
  const std::int64_t host_bytes_before_;  // bytes of tensors that existed before this trainer
  Streams streams_;
  const bool ahead_;                             // the device is driven ahead of its results
  std::unique_ptr<const WaitingTrainer> waits_;  // for a GPU whose backward passes wait for other replicas
  Graph graph_;
  Replicas replicas_;
  bool synchronised_;                                // batch-norm takes the statistics of all replicas
  std::unique_ptr<const TorchCriterion> criterion_;  // null: the outputs go to another stage
  std::unique_ptr<const BoxMatcher> matcher_;        // of a detector
  std::optional<std::uint32_t> culprit_;
  PixelScale pixel_scale_;
  std::vector<std::string> trained_names_;
  std::vector<at::Tensor> trained_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  // keeps the hooks alive
  std::function<void(std::size_t)> gradient_ready_;
  std::vector<char> handed_out_;  // whether gradient() has returned each gradient since they were cleared: such a one
                                  // is no longer scaled
  std::unique_ptr<SharedParameters> shared_;  // null: values, slots and gradients are this replica's own
  std::vector<at::Tensor> shared_gradients_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<LossScaler> scaler_;  // for fp16, on every device: all replicas of a run must skip the same steps
  std::vector<DropoutLayer> dropout_;
  std::map<int, StagePass> under_way_;  // of a stage: keyed by micro-batch

  // Where the device is driven ahead:
  std::vector<int> own_cpus_;  // for a GPU: the CPUs of this trainer's thread
  at::Tensor scale_, shift_;   // of the normalisation (1, C, 1, 1)
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<HostGradients> host_gradients_;
  std::unique_ptr<DeviceExchange> exchange_;  // sums over the devices of other replicas
  bool final_ = true;                         // whether gradients computed now are final
  std::vector<char> fetched_;                 // for each gradient, whether the copy of its final value was started
  std::vector<std::size_t> ready_;            // indices of the gradients being copied, in order
  std::unique_ptr<WholeSteps> whole_steps_;
  std::unique_ptr<EvaluationSums> evaluation_sums_;

  StepWatch step_watch_;  // empty unless layers are being timed
};

}  // namespace evener::engine::torch_engine
