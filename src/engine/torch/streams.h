// A device's order of work: a stream to compute in and one to copy beside it. The CPU has neither: there everything has
// happened when a call returns, and the same code runs.
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
  /// Whether work goes on after the call that asked for it.
  bool asynchronous() const { return compute_.has_value(); }
  const std::optional<c10::Stream>& compute() const { return compute_; }
  const std::optional<c10::Stream>& copy() const { return copy_; }

  /// `look` is called now and then by who waits for the device, and may throw.
  void look_around_by(std::function<void()> look) { look_ = std::move(look); }
  void look_around() const {
    if (look_) look_();
  }

 private:
  c10::Device device_;
  std::optional<c10::Stream> compute_, copy_;
  std::function<void()> look_;
};

/// While it lives, this thread's work goes to `stream`, where there is one.
class WorkingIn {
 public:
  explicit WorkingIn(const std::optional<c10::Stream>& stream) : guard_(stream) {}

 private:
  c10::OptionalStreamGuard guard_;
};

/// A point in a stream's work. Before record() it counts as passed.
class Moment {
 public:
  explicit Moment(const Streams& streams, bool timed = false);

  /// After what `stream` was given so far.
  void record(const std::optional<c10::Stream>& stream);
  /// `stream` goes on when this point is passed.
  void hold_back(const std::optional<c10::Stream>& stream) const;
  bool passed() const;
  /// Blocks this thread, which sleeps if that takes long: the CPUs are others'. Throws what the streams' look does.
  void wait() const;
  /// Both passed, timed, and of an asynchronous device.
  double seconds_since(const Moment& earlier) const;

 private:
  const Streams* streams_;
  std::optional<c10::Event> event_;
};

}  // namespace evener::engine::torch_engine
