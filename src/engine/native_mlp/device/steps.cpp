#include "engine/native_mlp/device/steps.h"

#include <algorithm>

#include "base/phase.h"
#include "base/statistics.h"

namespace evener::engine::native_mlp {
namespace {

/// The first steps allocate memory and compile kernels; the next ones are timed.
constexpr std::int64_t kWarmUpSteps = 3, kTimedSteps = 5;
/// Results are fetched when kFetchTogether of them are unread, or kFetchAfter has passed since the last fetch.
constexpr std::size_t kFetchTogether = 16;
constexpr std::chrono::milliseconds kFetchAfter{20};
/// Number of fetches that may be under way. Their results must not be overwritten before they are read.
constexpr std::size_t kFetches = 2;
static_assert((kFetches + 2) * kFetchTogether <= DeviceMlp::kStepResults);

}  // namespace

DeviceSteps::DeviceSteps(Accelerator& accelerator, DeviceFeed& feed, DeviceMlp& mlp, bool average, bool replay)
    : accelerator_(accelerator),
      feed_(feed),
      mlp_(mlp),
      average_(average),
      replay_(replay),
      results_(accelerator.allocate_host(DeviceMlp::kStepResults * sizeof(DeviceResult))),
      counts_(DeviceMlp::kStepResults) {}

StepReport DeviceSteps::run(const data::Batch& batch, Header header) {
  if (mlp_.grow(batch.count)) forget();
  header.result = static_cast<std::int32_t>(next_);
  same_count_ = batch.count == last_count_ ? same_count_ + 1 : 1;
  last_count_ = batch.count;
  const bool timed = steps_ >= kWarmUpSteps && steps_ < kWarmUpSteps + kTimedSteps;
  auto before_copy = timed ? accelerator_.mark() : nullptr;
  const DeviceBatch given = feed_.put(batch, header);
  if (timed) {
    launch_timed(given, std::move(before_copy));
  } else if (replay_ && steps_ >= kWarmUpSteps + kTimedSteps && (recording_ || same_count_ > 1)) {
    replay(given);
  } else {
    launch(given, nullptr);
  }
  ++steps_;
  counts_[next_] = batch.count;
  next_ = (next_ + 1) % counts_.size();
  if (unread_++ == 0) fetched_at_ = Clock::now();
  const bool at_end = next_ == 0;  // a fetch copies consecutive results
  if (unread_ >= kFetchTogether || at_end || Clock::now() - fetched_at_ > kFetchAfter) fetch();
  return report_until(kFetches);
}

void DeviceSteps::launch(const DeviceBatch& batch, std::vector<std::unique_ptr<Moment>>* moments) {
  const auto passing = [&] {
    if (moments != nullptr) moments->push_back(accelerator_.mark());
  };
  {
    const PhaseMark mark(Phase::kForward);
    mlp_.forward(batch, kLossOfStep);
  }
  passing();
  const PhaseMark mark(Phase::kBackward);
  mlp_.backward(batch, kUpdateAtOnce, [](std::size_t) {});
  if (average_) mlp_.follow(*batch.block);
  passing();
}

/// Times the phases of a step. Waits for the step, so that the copy of its batch is timed without overlapping work.
void DeviceSteps::launch_timed(const DeviceBatch& batch, std::unique_ptr<Moment> before_copy) {
  std::vector<std::unique_ptr<Moment>> moments;
  moments.push_back(std::move(before_copy));
  moments.push_back(accelerator_.mark());
  launch(batch, &moments);
  accelerator_.copy_out(results_->data() + next_ * sizeof(DeviceResult), mlp_.results(), next_ * sizeof(DeviceResult),
                        sizeof(DeviceResult));
  moments.push_back(accelerator_.mark());
  moments.back()->wait();
  const char* const names[] = {"h2d", "forward", "backward", "d2h"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    times_s_[names[i]].push_back(moments[i + 1]->seconds_since(*moments[i]));
  }
}

/// Replays the recorded step, and records one if there is none. A batch of another size than the recorded one is done
/// launch by launch.
void DeviceSteps::replay(const DeviceBatch& batch) {
  if (recorded_moves_ != feed_.moves()) recording_.reset();
  if (!recording_) {
    recording_ = accelerator_.record([&] { launch(batch, nullptr); });
    recorded_count_ = batch.count;
    recorded_mixed_ = batch.mixed;
    recorded_moves_ = feed_.moves();
    replay_ = recording_ != nullptr;
  }
  if (!recording_ || batch.count != recorded_count_ || batch.mixed != recorded_mixed_) return launch(batch, nullptr);
  const PhaseMark mark(Phase::kForward);
  recording_->replay();
  ++replayed_;
}

void DeviceSteps::fetch() {
  if (unread_ == 0) return;
  const std::size_t first = (next_ + counts_.size() - unread_) % counts_.size();
  const std::size_t offset = first * sizeof(DeviceResult);
  accelerator_.copy_out(results_->data() + offset, mlp_.results(), offset, unread_ * sizeof(DeviceResult));
  fetches_.push_back({first, unread_, accelerator_.mark()});
  unread_ = 0;
}

StepReport DeviceSteps::report_until(std::size_t left) {
  StepReport report;
  const PhaseMark mark(Phase::kD2H);
  for (; fetches_.size() > left; fetches_.pop_front()) {
    const Fetch& fetch = fetches_.front();
    fetch.landed->wait();
    const auto* results = reinterpret_cast<const DeviceResult*>(results_->data());
    for (std::size_t place = fetch.first; place < fetch.first + fetch.count && report.finite; ++place) {
      const DeviceResult& result = results[place];
      report.finite = result.stopped == 0;
      if (!report.finite) continue;
      report.sums += classification_sums(result.loss, std::int64_t(result.correct), counts_[place]);
      ++report.steps;
    }
    if (report.finite) continue;
    accelerator_.finish();
    fetches_.clear();
    unread_ = 0;
    break;
  }
  return report;
}

StepReport DeviceSteps::settle() {
  fetch();
  return report_until(0);
}

void DeviceSteps::restart() {
  settle();
  const float zero = 0;
  accelerator_.copy_in(mlp_.stopped(), 0, &zero, sizeof zero);
  accelerator_.finish();
}

void DeviceSteps::forget() {
  recording_.reset();
}

std::map<std::string, double> DeviceSteps::phases_s() const {
  std::map<std::string, double> phases;
  for (const auto& [name, times] : times_s_) phases[name] = median(times).value_or(0);
  return phases;
}

std::string DeviceSteps::note() const {
  if (steps_ == 0) return "";
  if (replayed_ > 0) return "whole steps were replayed as a graph (--step-graph)";
  return "steps were started kernel by kernel";
}

}  // namespace evener::engine::native_mlp
