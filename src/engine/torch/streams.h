// The streams of a device: one that computes, and one that copies beside it. The CPU has neither, and all work is done
// when a call returns; the same code drives both. And graphs of a step's work in a stream, which are recorded once and
// replayed.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceType.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace evener::engine::torch_engine {

class Streams {
 public:
  explicit Streams(c10::Device device);

  c10::Device device() const { return device_; }
  /// Whether calls return before their work is done.
  bool asynchronous() const { return compute_.has_value(); }
  const std::optional<c10::Stream>& compute() const { return compute_; }
  const std::optional<c10::Stream>& copy() const { return copy_; }

  /// Sets a function that is called now and then while the host waits for the device; it may throw, to end the wait.
  void look_around_by(std::function<void()> look) { look_ = std::move(look); }
  void look_around() const {
    if (look_) look_();
  }

 private:
  c10::Device device_;
  std::optional<c10::Stream> compute_, copy_;
  std::function<void()> look_;
};

/// Makes `stream`, if there is one, this thread's current stream during its lifetime.
class WorkingIn {
 public:
  explicit WorkingIn(const std::optional<c10::Stream>& stream) : guard_(stream) {}

 private:
  c10::OptionalStreamGuard guard_;
};

/// An event in a stream. Before record() it counts as passed.
class Moment {
 public:
  explicit Moment(const Streams& streams, bool timed = false);

  /// Places the event after the work that `stream` was given so far.
  void record(const std::optional<c10::Stream>& stream);
  /// Makes `stream` wait for the event before it does work that is enqueued from now on.
  void hold_back(const std::optional<c10::Stream>& stream) const;
  bool passed() const;
  /// Blocks this thread until the event has passed. It sleeps rather than spins when that takes long, leaving its CPU
  /// to other replicas. Throws what the function set by look_around_by() throws.
  void wait() const;
  /// Seconds between two events, which must have passed, be timed, and be of an asynchronous device.
  double seconds_since(const Moment& earlier) const;

 private:
  const Streams* streams_;
  std::optional<c10::Event> event_;
};

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
