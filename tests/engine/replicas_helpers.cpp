#include "engine/replicas_helpers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

namespace evener::test {

void ThreadSums::add(std::size_t replica, std::span<double> values) {
  sizes_[replica].push_back(values.size());
  slots_[replica] = values;
  barrier_.arrive_and_wait();
  std::vector<double> sum(values.size(), 0);
  for (const auto& slot : slots_) {
    if (slot.empty()) continue;
    EXPECT_EQ(slot.size(), values.size()) << "replicas are at different layers";
    for (std::size_t i = 0; i < std::min(slot.size(), sum.size()); ++i) sum[i] += slot[i];
  }
  barrier_.arrive_and_wait();
  std::copy(sum.begin(), sum.end(), values.begin());
}

void ThreadSums::leave(std::size_t replica) {
  slots_[replica] = {};
  barrier_.arrive_and_drop();
}

std::vector<std::string> on_threads(
    ThreadSums& sums, std::size_t replicas,
    const std::function<void(std::size_t, std::function<void(std::span<double>)>)>& body) {
  std::vector<std::string> errors(replicas);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < replicas; ++i) {
    threads.emplace_back([&, i] {
      try {
        body(i, [&sums, i](std::span<double> values) { sums.add(i, values); });
      } catch (const std::exception& error) {
        errors[i] = error.what();
      }
      sums.leave(i);
    });
  }
  threads.clear();
  return errors;
}

SharedStep shared_step(const Start& start, const OwnedBatch& batch, const std::vector<std::int64_t>& parts) {
  const std::size_t replicas = parts.size();
  const std::int64_t count = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  std::vector<TensorMap> gradients(replicas);
  std::vector<engine::Sums> results(replicas);
  SharedStep step;
  step.states.resize(replicas);
  step.ready.resize(replicas);
  ThreadSums sums(replicas);
  const auto errors = on_threads(sums, replicas, [&](std::size_t i, const auto& sum) {
    engine::TrainerOptions own = start.options;
    own.sum_over_replicas = sum;
    const auto trainer = make_trainer(start.network, own, start.state);
    exchange_of(*trainer).on_gradient_ready([&, i, driver = std::this_thread::get_id()](std::size_t index) {
      EXPECT_EQ(std::this_thread::get_id(), driver);
      if (parts[i] == 0) {
        for (const float value : exchange_of(*trainer).gradient(index)) ASSERT_EQ(value, 0.0F);
      }
      step.ready[i].push_back(index);
    });
    const std::int64_t begin =
        std::accumulate(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i), std::int64_t{0});
    results[i] = trainer->forward_backward(batch.view(begin, begin + parts[i]), 1.0 / static_cast<double>(count));
    gradients[i] = exchange_of(*trainer).gradients();
    step.states[i] = trainer->state();
  });
  for (const auto& error : errors) EXPECT_EQ(error, "");
  step.gradients = gradients.front();
  for (std::size_t i = 1; i < replicas; ++i) add_to(step.gradients, gradients[i]);
  for (const auto& result : results) step.result += result;
  step.sizes = sums.sizes();
  return step;
}

SharedStep lone_step(const Start& start, const OwnedBatch& batch) {
  const auto trainer = make_trainer(start.network, start.options, start.state);
  SharedStep step;
  step.result = trainer->forward_backward(batch.view(), 1.0 / static_cast<double>(batch.labels.size()));
  step.gradients = exchange_of(*trainer).gradients();
  step.states.push_back(trainer->state());
  return step;
}

void add_to(TensorMap& sum, const TensorMap& other) {
  ASSERT_EQ(sum.size(), other.size());
  for (auto& [name, tensor] : sum) {
    const HostTensor& term = other.at(name);
    for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) tensor.floats()[i] += term.floats()[i];
  }
}

}  // namespace evener::test
