// Samples of many callers, answered together: whoever asks waits, lanes take what waits as batches.
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
#include "task/inference/infer.h"

namespace evener::task {

/// So many samples wait already that these don't fit in.
class QueueFull : public Error {
 public:
  using Error::Error;
};

/// The answer was not there in time.
class AnswerTooLate : public Error {
 public:
  using Error::Error;
};

struct BatchQueueOptions {
  std::size_t lanes = 1;        // calls that are computed side by side
  std::size_t batch = 1;        // most samples of a call
  std::size_t capacity = 1024;  // most samples that wait
  double max_wait_s = 0;        // that a lane without work leaves samples waiting for others to fill its batch
};

class BatchQueue {
 public:
  /// Computes on a lane: outputs with the batch as their first extent, which may be longer than `samples`. A lane is
  /// driven by one thread.
  using Call = std::function<TensorMap(std::size_t lane, const std::vector<const SampleValues*>& samples)>;

  /// What a call came to.
  struct Done {
    std::size_t samples = 0;
    double longest_wait_s = 0;  // of its samples, in the queue
    double compute_s = 0;
  };
  /// Called by lanes, several at a time.
  using OnDone = std::function<void(const Done& done)>;

  /// `on_done` may be empty. Throws Error where the system has no threads left.
  BatchQueue(const BatchQueueOptions& options, Call call, OnDone on_done = {});
  /// Answers what waits.
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// The outputs for these samples, which become one call, a part of one or several. Waits for them at most
  /// `limit_s`. Thread-safe. Throws QueueFull, AnswerTooLate, and what the call threw.
  TensorMap answer(std::vector<SampleValues> samples, double limit_s);

  std::size_t waiting() const;  // samples
  const BatchQueueOptions& options() const { return options_; }

 private:
  /// Samples that were asked for together.
  struct Asked;
  struct Waiting {
    std::shared_ptr<Asked> asked;
    std::size_t place = 0;  // in what was asked for
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

}  // namespace evener::task
