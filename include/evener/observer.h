// Who listens to a job while it works.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace evener {

/// How far an epoch is, told about ten times a second.
struct StepEvent {
  int epoch = 0;          // from 1
  std::int64_t step = 0;  // of the epoch, done
  std::int64_t steps_per_epoch = 0;
  double images_per_s = 0;  // of the epoch so far
  double loss = 0;          // running mean of the epoch
};

/// An epoch that has ended. What is absent was not measured.
struct EpochEvent {
  int epoch = 0;       // from 1
  double seconds = 0;  // of training; validation apart
  double learning_rate = 0;
  double train_loss = 0;
  std::optional<double> train_accuracy, val_loss, val_accuracy;  // accuracies from 0 to 1
  std::map<std::string, double> figures;                         // of a detector: "val_map_50", ...
  bool best = false;                                             // the best validation so far
};

/// All calls come from the thread that called the job, while it waits for it. What a call throws stops the job in good
/// order, and is then thrown to the caller. Whoever isn't interested overrides nothing.
class Observer {
 public:
  virtual ~Observer() = default;
  /// A sentence: what the job is about to do, what it noticed.
  virtual void note(const std::string& /*text*/) {}
  /// How far the work is, in words, in place of what was told before.
  virtual void progress(const std::string& /*text*/) {}
  /// Results as they become known, whole lines in the format that the option "format" asked for.
  virtual void answers(const std::string& /*lines*/) {}
  virtual void step(const StepEvent& /*event*/) {}
  virtual void epoch(const EpochEvent& /*event*/) {}
  /// Asked some fifty times a second: true stops the job in good order, as a StopFlag does.
  virtual bool wants_stop() { return false; }
};

}  // namespace evener
