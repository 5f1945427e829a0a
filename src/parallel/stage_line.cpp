#include "parallel/stage_line.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/this_work.h"

namespace evener::parallel {

struct StageLine::Call {
  engine::ImageSpan images;
  std::vector<HostTensor> values;  // inputs of the next stage
  std::promise<TensorMap> outputs;
};

/// A stage with its queue of waiting calls.
class StageLine::Station {
 public:
  explicit Station(Stage stage) : stage_(std::move(stage)) { work_.runners = stage_.runners.size(); }
  ~Station() { close(); }
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  Stage& stage() { return stage_; }

  void put(std::shared_ptr<Call> call) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(call));
    changed_.notify_one();
  }

  /// Waits for a call and takes it; null: the station was closed and no call is left.
  std::shared_ptr<Call> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return nullptr;
    std::shared_ptr<Call> call = std::move(waiting_.front());
    waiting_.pop_front();
    return call;
  }

  void add(double busy_s) {
    const std::scoped_lock lock(mutex_);
    ++work_.calls;
    work_.busy_s += busy_s;
  }

  Work work() const {
    const std::scoped_lock lock(mutex_);
    return work_;
  }

  void start(std::jthread thread) { threads_.push_back(std::move(thread)); }

  void close() {
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
      changed_.notify_all();
    }
    threads_.clear();  // joins
  }

 private:
  Stage stage_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Call>> waiting_;
  Work work_;
  bool closed_ = false;
  std::vector<std::jthread> threads_;
};

class StageLine::Lane : public engine::Runner {
 public:
  explicit Lane(std::shared_ptr<StageLine> line) : line_(std::move(line)) {}

  void start(const engine::ImageSpan& images) override {
    if (outputs_.valid()) throw Error("a lane of stages with a call under way was given another one");
    auto call = std::make_shared<Call>();
    call->images = images;
    outputs_ = call->outputs.get_future();
    line_->stations_.front()->put(std::move(call));
  }

  TensorMap wait() override {
    if (!outputs_.valid()) throw Error("a lane of stages without a call under way was waited for");
    return outputs_.get();
  }

  /// Summed over all stages.
  std::map<std::string, int> executed() const override {
    std::map<std::string, int> all;
    for (const auto& station : line_->stations_) {
      for (const auto& [what, count] : station->stage().runners.front()->executed()) all[what] += count;
    }
    return all;
  }

 private:
  std::shared_ptr<StageLine> line_;
  std::future<TensorMap> outputs_;
};

StageLine::StageLine(std::vector<Stage> stages) {
  for (Stage& stage : stages) stations_.push_back(std::make_unique<Station>(std::move(stage)));
  for (std::size_t s = 0; s < stations_.size(); ++s) {
    for (const auto& runner : stations_[s]->stage().runners) {
      stations_[s]->start(std::jthread(as_this_work([this, s, each = runner.get()] { drive(s, *each); })));
    }
  }
}

/// Closes the stages in order, so that each one still takes calls from the stage before it.
StageLine::~StageLine() {
  for (const auto& station : stations_) station->close();
}

std::vector<StageLine::Work> StageLine::work() const {
  std::vector<Work> work;
  for (const auto& station : stations_) work.push_back(station->work());
  return work;
}

std::vector<std::unique_ptr<engine::Runner>> StageLine::lanes(const std::shared_ptr<StageLine>& line, int count) {
  std::vector<std::unique_ptr<engine::Runner>> lanes;
  for (int i = 0; i < count; ++i) lanes.push_back(std::make_unique<Lane>(line));
  return lanes;
}

void StageLine::drive(std::size_t stage, engine::Runner& runner) {
  while (const std::shared_ptr<Call> call = stations_[stage]->take()) {
    try {
      pass(stage, runner, *call);
    } catch (...) {
      call->outputs.set_exception(std::current_exception());
      continue;
    }
    if (stage + 1 < stations_.size()) stations_[stage + 1]->put(call);
  }
}

void StageLine::pass(std::size_t stage, engine::Runner& runner, Call& call) {
  const Stopwatch clock;
  if (stage == 0) {
    runner.start(call.images);
  } else {
    runner.start_stage(call.values);
  }
  TensorMap outputs = runner.wait();
  call.values.clear();
  stations_[stage]->add(clock.seconds());
  if (stage + 1 == stations_.size()) {
    call.outputs.set_value(std::move(outputs));
  } else {
    for (const std::string& name : stations_[stage]->stage().sent) {
      call.values.push_back(std::move(outputs.at(name)));
    }
  }
}

}  // namespace evener::parallel
