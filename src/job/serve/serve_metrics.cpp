#include "job/serve/serve_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/memory.h"

namespace evener::job {
namespace {

constexpr double kSeconds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
constexpr double kSamples[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

std::string head_text(const std::string& name, const char* type, const std::string& help) {
  return fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

std::string value_text(const std::string& name, const char* type, const std::string& help, std::uint64_t value) {
  return head_text(name, type, help) + fmt::format("{} {}\n", name, value);
}

}  // namespace

void Histogram::add(double value) {
  const auto place = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  const std::lock_guard lock(mutex_);
  ++counts_[static_cast<std::size_t>(place)];
  sum_ += value;
}

std::string Histogram::text(const std::string& name, const std::string& help) const {
  std::string text = head_text(name, "histogram", help);
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    count += counts_[i];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], count);
  }
  count += counts_[bounds_.size()];
  return text + fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name, count, sum_);
}

ServeMetrics::ServeMetrics(std::function<std::optional<double>()> joules)
    : joules_(std::move(joules)),
      request_s_(kSeconds),
      wait_s_(kSeconds),
      compute_s_(kSeconds),
      batch_samples_(kSamples) {}

void ServeMetrics::add_request(int status, double seconds) {
  request_s_.add(seconds);
  const std::lock_guard lock(mutex_);
  ++requests_[status];
}

void ServeMetrics::add_batch(const task::BatchQueue::Done& done) {
  ++batches_;
  samples_ += done.samples;
  wait_s_.add(done.longest_wait_s);
  compute_s_.add(done.compute_s);
  batch_samples_.add(static_cast<double>(done.samples));
}

std::uint64_t ServeMetrics::requests() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(requests_.begin(), requests_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& one) { return sum + one.second; });
}

std::string ServeMetrics::text(const task::BatchQueue& queue, const HttpCounts& http) const {
  std::string text = head_text("evener_requests_total", "counter", "Requests for answers, by status.");
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [status, count] : requests_) {
      text += fmt::format("evener_requests_total{{status=\"{}\"}} {}\n", status, count);
    }
  }
  text += value_text("evener_samples_total", "counter", "Samples that were computed.", samples_);
  text += value_text("evener_batches_total", "counter", "Calls of the network.", batches_);
  text += value_text("evener_queue_samples", "gauge", "Samples that wait for a lane.", queue.waiting());
  text += value_text("evener_queue_capacity_samples", "gauge", "Samples that may wait.", queue.options().capacity);
  text += value_text("evener_connections", "gauge", "Open connections.", http.open);
  text += value_text("evener_connections_total", "counter", "Connections that were answered.", http.connections);
  text += value_text("evener_body_bytes", "gauge", "Memory promised to requests under way.", http.bodies_bytes);
  text += value_text("process_resident_memory_bytes", "gauge", "Resident memory.", process_memory().resident_bytes);
  if (const auto joules = joules_ ? joules_() : std::nullopt) {
    text += head_text("evener_energy_joules_total", "counter", "Of the machine, idle power included.") +
            fmt::format("evener_energy_joules_total {}\n", *joules);
  }
  text += request_s_.text("evener_request_seconds", "From a whole request to its answer.");
  text += wait_s_.text("evener_queue_seconds", "Waiting for a lane: the longest of each call.");
  text += compute_s_.text("evener_compute_seconds", "A call of the network.");
  text += batch_samples_.text("evener_batch_samples", "Samples of a call.");
  return text;
}

}  // namespace evener::job
