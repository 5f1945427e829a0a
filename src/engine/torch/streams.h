// The streams of a device: one that computes, and one that copies beside it. The CPU has neither, and all work is done
// when a call returns; the same code drives both.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <functional>
#include <optional>
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

}  // namespace evener::engine::torch_engine
