#include "infer/run/infer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/this_work.h"
#include "parallel/shares.h"

namespace evener::inference {
namespace {

using parallel::FlowStep;

/// How many calls a fast device may be ahead of a slow one. Predictions are given in order, so the fast one's have to
/// be kept.
constexpr std::size_t kPredictionsAhead = 1024;
constexpr int kMostLiveReaders = 4;  // so many frames of a camera are prepared at the same time

struct ReadSample {
  std::size_t index = 0;
  SampleValues values;
};

struct RawPrediction {
  std::size_t index = 0;
  std::map<std::string, std::vector<float>> outputs;
};

/// Joins the values of read samples into a batch.
SampleValues batch_of(const std::vector<ReadSample>& samples, std::int64_t batch) {
  std::vector<const SampleValues*> values;
  for (const ReadSample& sample : samples) values.push_back(&sample.values);
  return gathered(values, batch);
}

std::vector<RawPrediction> predictions_of(const TensorMap& outputs, const std::vector<ReadSample>& samples) {
  std::vector<RawPrediction> predictions;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    RawPrediction prediction{samples[i].index, {}};
    for (const auto& [name, tensor] : outputs) {
      const auto each = static_cast<std::size_t>(element_count(tensor.shape) / tensor.shape.front());
      const float* const begin = tensor.floats() + i * each;
      prediction.outputs.emplace(name, std::vector<float>(begin, begin + each));
    }
    predictions.push_back(std::move(prediction));
  }
  return predictions;
}

/// A thread for each runner makes one call after the other, until so many seconds have passed. When the calls of each
/// ended, since the first began.
std::vector<std::vector<double>> ends_of_calls(const Runners& runners, const SampleValues& batch, double seconds) {
  std::vector<std::vector<double>> ends_s(runners.size());
  std::mutex mutex;
  std::exception_ptr failure;
  const Stopwatch clock;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    threads.emplace_back(as_this_work([&, runner = runners[i].get(), ends = &ends_s[i]] {
      try {
        do {
          start(*runner, batch);
          runner->wait();
          ends->push_back(clock.seconds());
        } while (clock.seconds() < seconds && !stop_requested());
      } catch (...) {
        const std::scoped_lock lock(mutex);
        failure = std::current_exception();
      }
    }));
  }
  threads.clear();  // joins
  if (failure) std::rethrow_exception(failure);
  return ends_s;
}

/// The calls that a runner has done by then since its first ended, with the part of the one under way.
double calls_until(const std::vector<double>& ends_s, double time_s) {
  const auto next = std::ranges::upper_bound(ends_s, time_s);
  if (next == ends_s.begin()) return 0;
  const auto last = next - 1;
  const auto whole = static_cast<double>(last - ends_s.begin());
  return next == ends_s.end() ? whole : whole + (time_s - *last) / (*next - *last);
}

}  // namespace

SampleValues read_values(const data::Samples& samples, std::size_t index) {
  const auto count = static_cast<std::size_t>(element_count(samples.shape()));
  SampleValues values;
  if (samples.is_bytes()) {
    values.bytes.resize(count);
    samples.read(index, std::span(values.bytes));
  } else {
    values.floats.resize(count);
    samples.read(index, std::span(values.floats));
  }
  return values;
}

SampleValues gathered(const std::vector<const SampleValues*>& samples, std::int64_t batch) {
  SampleValues all;
  const auto gather = [&](auto member) {
    auto& to = all.*member;
    const std::size_t each = (samples.front()->*member).size();
    to.resize(each * static_cast<std::size_t>(batch));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::ranges::copy(samples[i]->*member, to.begin() + static_cast<std::ptrdiff_t>(i * each));
    }
  };
  gather(&SampleValues::bytes);
  gather(&SampleValues::floats);
  return all;
}

SampleValues values_like(const data::Samples& samples, std::int64_t batch, float value) {
  const auto count = static_cast<std::size_t>(batch * element_count(samples.shape()));
  if (!samples.is_bytes()) return {{}, std::vector<float>(count, value)};
  return {std::vector<std::uint8_t>(count, static_cast<std::uint8_t>(value * 256)), {}};
}

void start(engine::Runner& runner, const SampleValues& values) {
  if (values.floats.empty()) {
    runner.start(std::span<const std::uint8_t>(values.bytes));
  } else {
    runner.start(std::span<const float>(values.floats));
  }
}

InferResult InferJob::run(const data::Samples& samples, const OnPrediction& on_prediction) {
  std::size_t next = 0;
  const auto batch = static_cast<std::size_t>(setup_.batch);
  const std::size_t waiting = batch * std::max<std::size_t>(2, lanes_.size() + 1);
  // What waits before a step is old when its turn comes: frames of a camera wait in the camera, which drops them.
  const bool is_live = samples.live() != nullptr;
  const FlowStep reading{
      .name = "read",
      .workers = std::max(1, is_live ? std::min(options_.reading_threads, kMostLiveReaders) : options_.reading_threads),
      .capacity = is_live ? 1 : FlowStep().capacity,
      .on_failure = options_.strict ? parallel::OnFailure::kEndFlow : parallel::OnFailure::kSetAside};
  parallel::Dealing dealing(call_s_, static_cast<std::int64_t>((samples.size() + batch - 1) / batch));
  FlowStep computing{.name = "run", .workers = static_cast<int>(lanes_.size()), .capacity = waiting};
  computing.goes_on = [&](int worker) { return dealing.takes(static_cast<std::size_t>(worker), now_s()); };
  InferResult result;
  result.images_at_once = batch * lanes_.size();
  const auto next_index = [&]() -> std::optional<std::size_t> {
    return samples.has(next) ? std::optional(next++) : std::nullopt;
  };
  const auto read = [&](std::size_t index) { return ReadSample{index, read_values(samples, index)}; };
  const auto compute = [&](const std::vector<ReadSample>& taken, int worker) {
    const auto lane = static_cast<std::size_t>(worker);
    const Stopwatch call;
    const SampleValues values = batch_of(taken, setup_.batch);
    start(*lanes_[lane], values);
    auto predictions = predictions_of(wait(*lanes_[lane]), taken);
    dealing.gave(lane, call.seconds(), now_s());
    return predictions;
  };
  const auto tell = [&](const RawPrediction& raw) {
    Prediction prediction{raw.index, {}};
    for (const auto& [name, values] : raw.outputs) prediction.outputs.emplace(name, values);
    ++result.answered;
    on_prediction(prediction);
  };
  const auto name_of = [&](const std::size_t& index) { return samples.name(index); };
  parallel::Flow flow = parallel::flow_from<std::size_t>({.name = "list"}, next_index, name_of)
                            .map(reading, read)
                            .batch(batch)
                            .expand(computing, compute)
                            .into({.name = "prediction", .capacity = std::max(waiting, kPredictionsAhead)}, tell);
  watch_stages();
  const Stopwatch clock;
  try {
    flow.run();
  } catch (const Interrupted&) {
    if (!is_live) throw;
    result.was_stopped = true;
  }
  result.was_stopped = result.was_stopped || (is_live && stop_requested());
  result.seconds = clock.seconds();
  result.stages = stage_uses();
  result.flow = flow.report();
  for (const auto& item : result.flow.set_aside) result.skipped.push_back({item.name, item.reason});
  return result;
}

void InferJob::watch_stages() {
  watched_.clear();
  for (const auto& line : lines_) watched_.push_back(line->work());
  watched_from_s_ = now_s();
}

StageUses InferJob::stage_uses() const {
  const double seconds = now_s() - watched_from_s_;
  StageUses uses(watched_.size());
  for (std::size_t r = 0; r < watched_.size(); ++r) {
    const auto work = lines_[r]->work();
    for (std::size_t s = 0; s < work.size(); ++s) {
      const std::int64_t calls = work[s].calls - watched_[r][s].calls;
      const double busy_s = work[s].busy_s - watched_[r][s].busy_s;
      // A call that was under way when the watch began counts whole.
      const double share = busy_s / (seconds * static_cast<double>(work[s].runners));
      uses[r].push_back({.busy_share = std::min(1.0, share),
                         .calls = calls,
                         .call_s = calls == 0 ? 0 : busy_s / static_cast<double>(calls)});
    }
  }
  return uses;
}

TensorMap InferJob::call(std::size_t lane, const std::vector<const SampleValues*>& samples, CallTimes* times) {
  const auto smaller = smaller_[lane].lower_bound(std::ssize(samples));
  const bool is_small = smaller != smaller_[lane].end();
  engine::Runner& runner = is_small ? *smaller->second : *lanes_[lane];
  const Stopwatch gathering;
  const SampleValues batch = gathered(samples, is_small ? smaller->first : setup_.batch);
  if (times != nullptr) times->gather_s = gathering.seconds();
  const Stopwatch computing;
  start(runner, batch);
  TensorMap outputs = wait(runner);
  if (times != nullptr) times->compute_s = computing.seconds();
  return outputs;
}

std::vector<double> InferJob::network_rates(const data::Samples& samples, double seconds) {
  std::vector<ReadSample> first;
  for (std::size_t i = 0; i < samples.size() && std::ssize(first) < setup_.batch; ++i) {
    try {
      first.push_back({i, read_values(samples, i)});
    } catch (const Error&) {  // told where it was run
    }
  }
  if (first.empty()) return {};
  const SampleValues batch = batch_of(first, setup_.batch);
  constexpr int kBlocks = 10;
  std::vector<double> rates = call_rates(lanes_, batch, seconds, kBlocks);
  for (double& rate : rates) rate *= static_cast<double>(setup_.batch);
  return rates;
}

std::vector<double> rates_between(const std::vector<std::vector<double>>& ends_s, int blocks) {
  double from_s = 0, until_s = std::numeric_limits<double>::infinity(), end_s = 0;
  std::size_t calls = 0, fewest = std::numeric_limits<std::size_t>::max();
  for (const std::vector<double>& ends : ends_s) {
    if (ends.empty()) return {};
    from_s = std::max(from_s, ends.front());
    until_s = std::min(until_s, ends.back());
    end_s = std::max(end_s, ends.back());
    calls += ends.size();
    fewest = std::min(fewest, ends.size());
  }
  if (until_s <= from_s) return {static_cast<double>(calls) / end_s};
  const int count = std::clamp(static_cast<int>(fewest) - 1, 1, blocks);
  const double block_s = (until_s - from_s) / count;
  const auto done_until = [&](double time_s) {
    double done = 0;
    for (const std::vector<double>& ends : ends_s) done += calls_until(ends, time_s);
    return done;
  };
  std::vector<double> rates;
  for (int i = 0; i < count; ++i) {
    rates.push_back((done_until(from_s + (i + 1) * block_s) - done_until(from_s + i * block_s)) / block_s);
  }
  return rates;
}

std::vector<double> call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks) {
  return rates_between(ends_of_calls(runners, batch, seconds), blocks);
}

}  // namespace evener::inference
