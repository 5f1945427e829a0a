#include "serve/serve_helpers.h"

#include <chrono>
#include <numeric>
#include <utility>

namespace evener::test {

TensorMap sums_of(const std::vector<const inference::SampleValues*>& samples) {
  std::vector<float> scores;
  for (const inference::SampleValues* sample : samples) {
    const float sum = std::accumulate(sample->bytes.begin(), sample->bytes.end(), 0.0F) +
                      std::accumulate(sample->floats.begin(), sample->floats.end(), 0.0F);
    scores.push_back(sum);
    scores.push_back(static_cast<float>(sample->bytes.size() + sample->floats.size()));
  }
  // As a runner whose batch is larger than what was asked for.
  scores.insert(scores.end(), {-1, -1});
  TensorMap outputs;
  outputs["scores"] = HostTensor::of_floats({std::ssize(samples) + 1, 2}, scores);
  return outputs;
}

serving::ServedModel model_of_bytes() {
  serving::ServedModel model;
  model.name = "sums";
  model.platform = "evener_test";
  model.shape = {1, 2, 3};
  model.pictures = data::Preprocessing{.shape = {1, 2, 3}};
  model.outputs = {{"scores", {2}}};
  model.classes = {"sum", "values"};
  return model;
}

serving::ServedModel model_of_floats() {
  serving::ServedModel model = model_of_bytes();
  model.shape = {4};
  model.is_bytes = false;
  model.pictures.reset();
  return model;
}

TestServer::TestServer(serving::ServedModel model) : TestServer(std::move(model), Options()) {}

TestServer::TestServer(serving::ServedModel model, const Options& options)
    : model_(std::move(model)),
      server_(serving::open_http_server(options.http)),
      queue_(
          options.queue, [this](std::size_t /*lane*/, const auto& samples) { return call(samples); },
          [this](const serving::BatchQueue::Done& done) { metrics_.add_batch(done); }),
      api_(model_, queue_, metrics_, 2, options.limit_s),
      thread_([this] {
        server_->run([this](serving::HttpRequest& request) { return api_.answer(request, server_->counts()); },
                     [this] {
                       if (stop_.requested()) api_.drain();
                       return stop_.requested();
                     });
      }) {}

TestServer::~TestServer() {
  release();
  stop();
}

void TestServer::end() {
  stop();
  thread_.join();
}

TensorMap TestServer::call(const std::vector<const inference::SampleValues*>& samples) {
  std::unique_lock lock(mutex_);
  batches_.push_back(samples.size());
  changed_.notify_all();
  changed_.wait(lock, [this] { return !held_; });
  return sums_of(samples);
}

void TestServer::hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void TestServer::release() {
  const std::lock_guard lock(mutex_);
  held_ = false;
  changed_.notify_all();
}

std::vector<std::size_t> TestServer::batches() {
  const std::lock_guard lock(mutex_);
  return batches_;
}

void TestServer::wait_for_batches(std::size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return batches_.size() >= count; });
}

void TestServer::wait_for_waiting(std::size_t samples) const {
  while (queue_.waiting() < samples) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace evener::test
