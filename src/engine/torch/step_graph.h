// The work of a whole training step, captured once and started as one thing from then on (a CUDA graph).
#pragma once

#include <c10/core/DeviceType.h>

#include <functional>
#include <memory>
#include <string>

namespace evener::engine::torch_engine {

class StepGraph {
 public:
  virtual ~StepGraph() = default;
  /// Records what `step` gives to the current stream, which is not the default one, without doing it. Throws
  /// c10::Error when the step does something that can't be recorded.
  virtual void capture(const std::function<void()>& step) = 0;
  /// Gives the recorded work to the current stream.
  virtual void replay() = 0;
};

/// Keeps the step and does it anew each time: what a device without graphs can do, for tests.
std::unique_ptr<StepGraph> make_repeated_step();

/// What the module torch_cuda makes: the part of the torch engine that needs CUDA's own interfaces. A library of its
/// own, so that the engine can be opened where CUDA's libraries are missing.
class CudaParts {
 public:
  virtual ~CudaParts() = default;
  /// What LibTorch calls the devices that are cuda:0 and so on in options.
  virtual c10::DeviceType device_type() const = 0;
  /// Whether LibTorch finds one. Asks the driver.
  virtual bool finds_devices() const = 0;
  virtual std::unique_ptr<StepGraph> make_step_graph() = 0;
};

/// What decides whether steps can be captured.
struct StepGraphFacts {
  bool wanted = true;
  bool device_has_graphs = false;
  bool gradients_are_exchanged = false;
  bool batch_norm_is_synchronised = false;
};

/// Why steps are not captured; "" = they can be.
std::string step_graph_refusal(const StepGraphFacts& facts);

}  // namespace evener::engine::torch_engine
