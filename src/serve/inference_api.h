// The addresses of `evener serve`: the Open Inference Protocol, metrics, and pictures.
#pragma once

#include <algorithm>
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
#include <string_view>

#include "base/slots.h"
#include "serve/batch_queue.h"
#include "serve/http/http_server.h"
#include "serve/protocol.h"

namespace evener::serving {

/// A histogram: counts values up to each bound, and their sum. Thread-safe.
class Histogram {
 public:
  static constexpr std::size_t kMostBounds = 16;

  /// Ascending. `bounds` must outlive it.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds) {}
  void add(double value) {
    const auto place = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    const std::lock_guard lock(mutex_);
    ++counts_[static_cast<std::size_t>(place)];
    sum_ += value;
  }
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
  void add_request(int status, double seconds) {
    request_s_.add(seconds);
    const std::lock_guard lock(mutex_);
    ++requests_[status];
  }
  void add_batch(const BatchQueue::Done& done) {
    ++batches_;
    samples_ += done.samples;
    wait_s_.add(done.longest_wait_s);
    compute_s_.add(done.compute_s);
    batch_samples_.add(static_cast<double>(done.samples));
  }
  std::string text(const BatchQueue& queue, const HttpCounts& http) const;

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

/// Thread-safe.
class InferenceApi {
 public:
  /// `readers`: how many requests are parsed and pictures decoded at the same time, which bounds the memory for it.
  /// `limit_s`: time limit of an inference. `model`, `queue` and `metrics` must outlive this.
  InferenceApi(const ServedModel& model, BatchQueue& queue, ServeMetrics& metrics, int readers, double limit_s);

  /// `http`: the server's counts, for metrics.
  HttpResponse answer(HttpRequest& request, const HttpCounts& http);
  /// From now on reports that it isn't ready for more, but still answers all requests.
  void drain() { draining_ = true; }

 private:
  std::vector<std::string> addresses() const;
  std::string addresses_text() const;
  HttpResponse server_facts() const;
  HttpResponse model_facts() const;
  HttpResponse about_model(std::string_view path, HttpRequest& request);
  HttpResponse infer(HttpRequest& request);
  HttpResponse infer_unguarded(HttpRequest& request);
  /// Parses the body of a request, and converts its tensors into `samples`.
  InferRequest read(HttpRequest& request, std::vector<SentSample>& samples);

  const ServedModel& model_;
  BatchQueue& queue_;
  ServeMetrics& metrics_;
  Slots readers_;
  const double limit_s_;
  std::atomic<bool> draining_ = false;
};

}  // namespace evener::serving
