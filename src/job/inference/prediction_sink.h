// Sinks take the predictions of a network, to tell, judge or write them: one sink for each purpose.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "task/inference/infer.h"

namespace evener::job {

class PredictionSink {
 public:
  virtual ~PredictionSink() = default;
  /// Takes a prediction. Called in the order of the samples. Throws Error where it can't be written.
  virtual void take(const task::Prediction& prediction) = 0;
  /// Called after the last prediction: writes what is left. Throws Error where something could not be written.
  virtual void finish() {}
  /// Whether the sink prints each prediction; then no progress is shown, which would disturb that.
  virtual bool tells_each() const { return false; }
  /// What was found so far, for the progress: "3 boxes found"; "" = nothing worth telling.
  virtual std::string found_text() const { return ""; }
};

/// Gives each prediction to all of its sinks, in the order in which they were added.
class PredictionSinks : public task::InferObserver {
 public:
  /// Makes and owns a sink of type Sink.
  template <class Sink, class... Arguments>
  Sink& add(Arguments&&... arguments) {
    auto sink = std::make_unique<Sink>(std::forward<Arguments>(arguments)...);
    Sink& added = *sink;
    sinks_.push_back(std::move(sink));
    return added;
  }

  void on_prediction(const task::Prediction& prediction) override {
    times_s_.push_back(now_s() - begin_s_);
    for (const auto& sink : sinks_) sink->take(prediction);
  }
  void finish() {
    for (const auto& sink : sinks_) sink->finish();
  }

  const std::vector<std::unique_ptr<PredictionSink>>& sinks() const { return sinks_; }
  /// The time of each prediction, in seconds since this was made.
  const std::vector<double>& times_s() const { return times_s_; }

 private:
  std::vector<std::unique_ptr<PredictionSink>> sinks_;
  const double begin_s_ = now_s();
  std::vector<double> times_s_;
};

}  // namespace evener::job
