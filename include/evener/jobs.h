// What the commands of the same names do, for other programs: no argv, no printing, no exit. Several jobs may run at
// once, each called from a thread of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "evener/error.h"
#include "evener/observer.h"
#include "evener/options.h"
#include "evener/stop.h"

namespace evener {

/// What a job came to.
struct Result {
  enum class Status { kDone, kInterrupted, kDiverged };

  Status status = Status::kDone;     // a training that was stopped has saved a checkpoint, and may be resumed
  std::string reason;                // of another status than kDone, a sentence
  std::filesystem::path folder;      // of the files that were written; empty: none were asked for
  std::string record;                // record.json's text: what was done, and what it cost
  std::vector<std::string> summary;  // sentences for people, where the job has some
};

/// "done", "interrupted" or "diverged".
const char* status_name(Result::Status status);

/// All of them take the options of their command, options_of() lists them, and tell `observer` how it goes; null:
/// nobody listens. `stop` ends the job in good order from any thread; null: nobody does. Replicas are threads of the
/// calling process, never processes, and only this host works. All throw UsageError for options that can't be, and
/// Error for what fails. After a stop they throw Interrupted; a training that has done a step has a status instead.

/// Trains {"model", "resnet18"} on {"data", "photos/"}, or goes on with {"resume", "runs/a"}.
Result train(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);
/// Shows {"images", {"photos/"}} to {"model", "runs/a"}.
Result infer(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);
/// Finds the faces below {"dir", {"photos/"}}, and who is like whom.
Result find_faces(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);
/// Finds objects on {"images", {"photos/"}} with the detector {"model", "runs/d"}.
Result detect(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);
/// Makes {"model", "runs/a"} a network of 8-bit weights and activations.
Result quantize(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);
/// Runs {"what", {"train", "resnet18", "--data", "photos/", "--batch", "16,32"}}, or an experiment's file, in every
/// way. Each run is a process of the program evener that is installed with the library. The record is the table of
/// `evener report --json`. After a stop the same call goes on with the sweep.
Result sweep(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);

}  // namespace evener
