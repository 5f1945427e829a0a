// A server whose network is a sum that a test can hold back: no engine, so that it runs under every sanitizer.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/this_work.h"
#include "job/http/http_server.h"
#include "job/serve/inference_api.h"

namespace evener::test {

/// What the made-up network says of a sample: the sum of its values, and their number.
TensorMap sums_of(const std::vector<const task::SampleValues*>& samples);

/// A network of grey images of 2x3 pixels.
job::ServedModel model_of_bytes();
/// The same of vectors of four floats.
job::ServedModel model_of_floats();

class TestServer {
 public:
  struct Options {
    job::HttpOptions http = {};
    task::BatchQueueOptions queue = {.lanes = 1, .batch = 4, .capacity = 64};
    double limit_s = 60;
  };

  TestServer(job::ServedModel model, const Options& options);
  explicit TestServer(job::ServedModel model);
  ~TestServer();

  int port() const { return server_->port(); }
  /// From now on calls of the network wait; the sizes of those that were begun are told.
  void hold();
  void release();
  std::vector<std::size_t> batches();
  /// Waits until so many calls have begun, or samples wait.
  void wait_for_batches(std::size_t count);
  void wait_for_waiting(std::size_t samples) const;
  /// Asks for the end, which is there when end() returns.
  void stop() { stop_.request(); }
  void end();
  job::HttpCounts counts() const { return server_->counts(); }
  std::size_t waiting() const { return queue_.waiting(); }

 private:
  TensorMap call(const std::vector<const task::SampleValues*>& samples);

  const job::ServedModel model_;
  std::unique_ptr<job::HttpServer> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::vector<std::size_t> batches_;
  job::ServeMetrics metrics_;
  task::BatchQueue queue_;
  job::InferenceApi api_;
  StopFlag stop_;
  std::jthread thread_;
};

}  // namespace evener::test
