// A server whose network is a sum that a test can hold back: no engine, so that it runs under every sanitizer.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/this_work.h"
#include "serve/http/http_server.h"
#include "serve/inference_api.h"

namespace evener::test {

/// What the made-up network says of a sample: the sum of its values, and their number.
TensorMap sums_of(const std::vector<const inference::SampleValues*>& samples);

/// A network of grey images of 2x3 pixels.
serving::ServedModel model_of_bytes();
/// The same of vectors of four floats.
serving::ServedModel model_of_floats();

class TestServer {
 public:
  struct Options {
    serving::HttpOptions http = {};
    serving::BatchQueueOptions queue = {.lanes = 1, .batch = 4, .capacity = 64};
    double limit_s = 60;
  };

  TestServer(serving::ServedModel model, const Options& options);
  explicit TestServer(serving::ServedModel model);
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
  serving::HttpCounts counts() const { return server_->counts(); }
  std::size_t waiting() const { return queue_.waiting(); }

 private:
  TensorMap call(const std::vector<const inference::SampleValues*>& samples);

  const serving::ServedModel model_;
  std::unique_ptr<serving::HttpServer> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::vector<std::size_t> batches_;
  serving::ServeMetrics metrics_;
  serving::BatchQueue queue_;
  serving::InferenceApi api_;
  StopFlag stop_;
  std::jthread thread_;
};

}  // namespace evener::test
