// Who listens to a job while it works.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace evener {

/// The progress of an epoch, reported about ten times a second.
struct StepEvent {
  int epoch = 0;          // from 1
  std::int64_t step = 0;  // steps of the epoch that are done
  std::int64_t steps_per_epoch = 0;
  double images_per_s = 0;  // of the epoch so far
  double loss = 0;          // running mean of the epoch
};

/// The results of an epoch that has ended. An absent value was not measured.
struct EpochEvent {
  int epoch = 0;       // from 1
  double seconds = 0;  // of training, without validation
  double learning_rate = 0;
  double train_loss = 0;
  std::optional<double> train_accuracy, val_loss, val_accuracy;  // accuracies from 0 to 1
  std::map<std::string, double> figures;                         // a detector's metrics: "val_map_50", ...
  bool best = false;                                             // whether its validation is the best so far
};

/// Receives events of a job while it runs: override the events that you need. All calls come on the thread that called
/// the job. An exception from a call stops the job in good order and is then thrown to the job's caller.
class Observer {
 public:
  virtual ~Observer() = default;
  /// A sentence about what the job is about to do, or noticed.
  virtual void note(const std::string& /*text*/) {}
  /// The progress in words; it replaces the text of the call before.
  virtual void progress(const std::string& /*text*/) {}
  /// Results as they become known, whole lines in the format that the option "format" asked for.
  virtual void answers(const std::string& /*lines*/) {}
  virtual void step(const StepEvent& /*event*/) {}
  virtual void epoch(const EpochEvent& /*event*/) {}
  /// Asked some fifty times a second: true stops the job in good order, as a StopFlag does.
  virtual bool wants_stop() { return false; }
};

}  // namespace evener
