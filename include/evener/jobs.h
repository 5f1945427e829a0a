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

/// The outcome of a job.
struct Result {
  enum class Status { kDone, kInterrupted, kDiverged };

  Status status = Status::kDone;     // a training that was stopped has saved a checkpoint, and may be resumed
  std::string reason;                // a sentence that says why the status isn't kDone
  std::filesystem::path folder;      // that the files were written to; empty: none were asked for
  std::string record;                // record.json's text: what was done, and its cost
  std::vector<std::string> summary;  // sentences for people; may be empty
};

/// "done", "interrupted" or "diverged".
const char* status_name(Result::Status status);

/// Each job takes the options of the command of its name, which options_of() lists. It reports its progress to
/// `observer`; null: nobody listens. Setting `stop` from any thread ends the job in good order; null: nothing does.
/// Replicas are threads of the calling process, never processes of their own, and only this host computes. Jobs throw
/// UsageError for invalid options, and Error when the work fails. After a stop they throw Interrupted, except that a
/// training that has done at least one step returns the status kInterrupted.

/// Trains {"model", "resnet18"} on {"data", "photos/"}, or goes on with {"resume", "runs/a"}.
Result train(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);
/// Runs the network {"model", "runs/a"} on {"images", {"photos/"}}.
Result infer(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);
/// Finds the faces on all images below {"dir", {"photos/"}}, and compares them with each other.
Result find_faces(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);
/// Finds objects on {"images", {"photos/"}} with the detector {"model", "runs/d"}.
Result detect(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);
/// Quantises {"model", "runs/a"} to 8-bit weights and activations.
Result quantize(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);
/// Runs every combination of the listed values of {"what", {"train", "resnet18", "--data", "photos/", "--batch",
/// "16,32"}}, or of an experiment file. Each run is a process of the program evener that is installed with the library.
/// The record is the table of `evener report --json`. After a stop, repeating the call goes on with the sweep.
Result sweep(const Options& options, Observer* observer = nullptr, const StopFlag* stop = nullptr);

}  // namespace evener
