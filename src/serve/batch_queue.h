// Dynamic batching: callers wait for the outputs of their samples, and lanes compute waiting samples of several callers
// together as batches.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "infer/run/infer.h"

namespace evener::serving {

/// The queue has no room for the caller's samples.
class QueueFull : public Error {
 public:
  using Error::Error;
};

/// The outputs were not computed within the caller's limit.
class AnswerTooLate : public Error {
 public:
  using Error::Error;
};

struct BatchQueueOptions {
  std::size_t lanes = 1;        // calls that are computed side by side
  std::size_t batch = 1;        // most samples of a call
  std::size_t capacity = 1024;  // most samples that wait
  double max_wait_s = 0;        // how long an idle lane waits for more samples to fill its batch
};

class BatchQueue {
 public:
  /// Computes the outputs of `samples` on a lane. The first extent of each output is the batch, and may be larger than
  /// the number of samples. Each lane is called by one thread only.
  using Call = std::function<TensorMap(std::size_t lane, const std::vector<const inference::SampleValues*>& samples)>;

  /// The figures of one call.
  struct Done {
    std::size_t samples = 0;
    double longest_wait_s = 0;  // of the sample that waited longest in the queue
    double compute_s = 0;
  };
  /// Called by the threads of the lanes, possibly at the same time.
  using OnDone = std::function<void(const Done& done)>;

  /// `on_done` may be empty. Throws Error where the system has no threads left.
  BatchQueue(const BatchQueueOptions& options, Call call, OnDone on_done = {});
  /// Answers all samples that wait, and then ends the threads.
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// Returns the outputs of `samples`, in their order; they may share calls with other callers' samples. Waits at most
  /// `limit_s` seconds. Thread-safe. Throws QueueFull, AnswerTooLate, and what the call threw.
  TensorMap answer(std::vector<inference::SampleValues> samples, double limit_s);

  std::size_t waiting() const;  // samples
  const BatchQueueOptions& options() const { return options_; }

 private:
  /// The samples of one answer().
  struct Asked;
  struct Waiting {
    std::shared_ptr<Asked> asked;
    std::size_t place = 0;  // its index in the samples of that answer()
    double since_s = 0;
  };

  void work(std::size_t lane);
  std::vector<Waiting> next_batch();
  void compute(std::size_t lane, const std::vector<Waiting>& batch);
  void end();

  const BatchQueueOptions options_;
  const Call call_;
  const OnDone on_done_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool over_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace evener::serving
