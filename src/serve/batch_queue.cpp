#include "serve/batch_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/this_work.h"

namespace evener::serving {
namespace {

std::chrono::duration<double> until(double time_s) {
  return std::chrono::duration<double>(std::max(0.0, time_s - now_s()));
}

/// Tensors like `outputs`, but with room for `samples` samples.
TensorMap room_like(const TensorMap& outputs, std::size_t samples) {
  TensorMap room;
  for (const auto& [name, tensor] : outputs) {
    HostTensor& to = room[name];
    to.dtype = tensor.dtype;
    to.shape = tensor.shape;
    to.shape.front() = static_cast<std::int64_t>(samples);
    to.bytes.resize(static_cast<std::size_t>(element_count(to.shape)) * size_bytes(to.dtype));
  }
  return room;
}

/// Copies one sample's part of each output.
void copy_row(const TensorMap& from, std::size_t from_row, TensorMap& to, std::size_t to_row) {
  for (const auto& [name, tensor] : from) {
    const std::size_t bytes = tensor.bytes.size() / static_cast<std::size_t>(tensor.shape.front());
    std::memcpy(to.at(name).bytes.data() + to_row * bytes, tensor.bytes.data() + from_row * bytes, bytes);
  }
}

}  // namespace

struct BatchQueue::Asked {
  std::vector<inference::SampleValues> samples;
  std::mutex mutex;
  std::condition_variable changed;
  TensorMap outputs;        // of those that are answered
  std::size_t missing = 0;  // samples that aren't
  bool given_up = false;    // nobody waits for the rest
  std::exception_ptr failure;
};

BatchQueue::BatchQueue(const BatchQueueOptions& options, Call call, OnDone on_done)
    : options_(options), call_(std::move(call)), on_done_(std::move(on_done)) {
  try {
    for (std::size_t lane = 0; lane < options_.lanes; ++lane) {
      threads_.emplace_back(as_this_work([this, lane] { work(lane); }));
    }
  } catch (const std::system_error& problem) {
    end();
    throw Error(fmt::format("{} need as many threads, and the system refuses to start them: {}",
                            counted(options_.lanes, "lane"), problem.what()));
  }
}

BatchQueue::~BatchQueue() {
  end();
}

void BatchQueue::end() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  threads_.clear();
}

std::size_t BatchQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

TensorMap BatchQueue::answer(std::vector<inference::SampleValues> samples, double limit_s) {
  const auto asked = std::make_shared<Asked>();
  asked->samples = std::move(samples);
  asked->missing = asked->samples.size();
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + asked->samples.size() > options_.capacity) {
      throw QueueFull(fmt::format("{} wait already, and {} more don't fit into the queue of {}",
                                  counted(waiting_.size(), "sample"), asked->samples.size(), options_.capacity));
    }
    const double now = now_s();
    for (std::size_t place = 0; place < asked->samples.size(); ++place) waiting_.push_back({asked, place, now});
  }
  asked->samples.size() == 1 ? changed_.notify_one() : changed_.notify_all();
  std::unique_lock lock(asked->mutex);
  const auto is_over = [&] { return asked->missing == 0 || asked->failure; };
  if (!asked->changed.wait_for(lock, std::chrono::duration<double>(limit_s), is_over)) {
    asked->given_up = true;
    throw AnswerTooLate(fmt::format("no answer within {}", duration_text(limit_s)));
  }
  if (asked->failure) std::rethrow_exception(asked->failure);
  return std::move(asked->outputs);
}

void BatchQueue::work(std::size_t lane) {
  for (auto batch = next_batch(); !batch.empty(); batch = next_batch()) compute(lane, batch);
}

/// Empty: there is nothing left to do.
std::vector<BatchQueue::Waiting> BatchQueue::next_batch() {
  std::unique_lock lock(mutex_);
  const auto is_full = [this] { return waiting_.size() >= options_.batch; };
  while (!waiting_.empty() || !over_) {
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (options_.max_wait_s > 0 && !waiting_.empty()) {
      const double until_s = waiting_.front().since_s + options_.max_wait_s;
      // Another lane may take them meanwhile: what is left then has a time of its own.
      changed_.wait_for(lock, until(until_s), [&] { return over_ || waiting_.empty() || is_full(); });
      if (!waiting_.empty() && !over_ && !is_full() && now_s() < waiting_.front().since_s + options_.max_wait_s)
        continue;
    }
    std::vector<Waiting> batch;
    while (!waiting_.empty() && batch.size() < options_.batch) {
      Waiting one = std::move(waiting_.front());
      waiting_.pop_front();
      const std::lock_guard asked_lock(one.asked->mutex);
      if (!one.asked->given_up && !one.asked->failure) batch.push_back(one);
    }
    if (!waiting_.empty()) changed_.notify_one();  // this lane may have been woken for samples that it didn't take
    if (!batch.empty()) return batch;
  }
  return {};
}

void BatchQueue::compute(std::size_t lane, const std::vector<Waiting>& batch) {
  Done done{.samples = batch.size()};
  const double begin_s = now_s();
  std::vector<const inference::SampleValues*> values;
  for (const Waiting& one : batch) {
    values.push_back(&one.asked->samples[one.place]);
    done.longest_wait_s = std::max(done.longest_wait_s, begin_s - one.since_s);
  }
  TensorMap outputs;
  std::exception_ptr failure;
  try {
    outputs = call_(lane, values);
  } catch (...) {
    failure = std::current_exception();
  }
  done.compute_s = now_s() - begin_s;
  if (on_done_) on_done_(done);
  for (std::size_t row = 0; row < batch.size(); ++row) {
    Asked& asked = *batch[row].asked;
    const std::lock_guard lock(asked.mutex);
    if (failure) {
      asked.failure = failure;
    } else {
      if (asked.outputs.empty()) asked.outputs = room_like(outputs, asked.samples.size());
      copy_row(outputs, row, asked.outputs, batch[row].place);
    }
    if (--asked.missing == 0 || failure) asked.changed.notify_all();
  }
}

}  // namespace evener::serving
