// The metrics of a server, in the format of Prometheus.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "job/http/http_server.h"
#include "task/inference/batch_queue.h"

namespace evener::job {

/// A histogram: counts values up to each bound, and their sum. Thread-safe.
class Histogram {
 public:
  static constexpr std::size_t kMostBounds = 16;

  /// Ascending. `bounds` must outlive it.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds) {}
  void add(double value);
  /// In the text format of Prometheus 0.0.4, with HELP and TYPE.
  std::string text(const std::string& name, const std::string& help) const;

 private:
  const std::span<const double> bounds_;
  mutable std::mutex mutex_;
  std::array<std::uint64_t, kMostBounds + 1> counts_{};  // the last one above all bounds
  double sum_ = 0;
};

/// Thread-safe.
class ServeMetrics {
 public:
  /// `joules`: the energy since the server began, absent where it isn't known; null = it never is.
  explicit ServeMetrics(std::function<std::optional<double>()> joules = nullptr);

  /// Counts an inference request with its status and its time from the arrival of the body.
  void add_request(int status, double seconds);
  void add_batch(const task::BatchQueue::Done& done);
  std::string text(const task::BatchQueue& queue, const HttpCounts& http) const;

  std::uint64_t requests() const;
  std::uint64_t samples() const { return samples_; }
  std::uint64_t batches() const { return batches_; }

 private:
  const std::function<std::optional<double>()> joules_;
  mutable std::mutex mutex_;
  std::map<int, std::uint64_t> requests_;  // by status
  std::atomic<std::uint64_t> samples_ = 0, batches_ = 0;
  Histogram request_s_, wait_s_, compute_s_, batch_samples_;
};

}  // namespace evener::job
