// The work of a whole training step, captured once and launched as a whole from then on (a CUDA graph).
#pragma once

#include <c10/core/DeviceType.h>

#include <functional>
#include <memory>
#include <string>

namespace evener::engine::torch_engine {

class StepGraph {
 public:
  virtual ~StepGraph() = default;
  /// Records the work that `step` enqueues on the current stream, without doing it. The stream must not be the default
  /// one. Throws c10::Error when the step does something that can't be captured.
  virtual void capture(const std::function<void()>& step) = 0;
  /// Enqueues the recorded work on the current stream.
  virtual void replay() = 0;
};

/// A StepGraph that calls the step again at each replay: for tests, on devices without graphs.
std::unique_ptr<StepGraph> make_repeated_step();

/// The interface of the module torch_cuda, the part of the torch engine that calls CUDA directly. It is a library of
/// its own, so that the engine can be opened where CUDA's libraries are missing.
class CudaParts {
 public:
  virtual ~CudaParts() = default;
  /// LibTorch's device type for the devices that options call cuda:0 and so on.
  virtual c10::DeviceType device_type() const = 0;
  /// Whether LibTorch finds such a device. Initialises the driver.
  virtual bool finds_devices() const = 0;
  virtual std::unique_ptr<StepGraph> make_step_graph() = 0;
};

/// The facts that decide whether steps can be captured.
struct StepGraphFacts {
  bool wanted = true;
  bool device_has_graphs = false;
  bool gradients_are_exchanged = false;
  bool batch_norm_is_synchronised = false;
};

/// Why steps are not captured; "" = they can be.
std::string step_graph_refusal(const StepGraphFacts& facts);

}  // namespace evener::engine::torch_engine
