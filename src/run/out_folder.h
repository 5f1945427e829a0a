// The folder a run writes to: made, proved writable, locked, protected from being overwritten, and taken away again if
// the run comes to nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/folder_lock.h"

namespace evener::run {

/// The samples of a run, and where they are written until it has begun: it may replace another.
inline constexpr const char* kSamples = "samples.csv";
inline constexpr const char* kNewSamples = "samples.csv.new";

struct OutFolderOptions {
  /// Empty: a new folder, "runs/NAME-TIME" for the `name` of a model or the like, which sorts by time, or where runs
  /// begin in the same second "runs/NAME-TIME-2" and so on.
  std::filesystem::path path = {};
  std::string name = {};
  bool resume = false, overwrite = false;         // what becomes of a run that is in the folder
  bool can_resume = false;                        // the command has --resume
  std::vector<std::filesystem::path> reads = {};  // files that the run starts from; empty names are none
};

class OutFolder {
 public:
  /// What killed processes have left half-written in the folder goes. Throws UsageError if the folder holds a run and
  /// neither `resume` nor `overwrite` is set, if overwriting would remove what the run reads, or if another run is
  /// writing to it; Error if there is nothing to resume or the folder can't be written to.
  explicit OutFolder(const OutFolderOptions& options);
  /// Without begin(): removes what this run made, also what it added to the samples of a run that it goes on with.
  ~OutFolder();
  OutFolder(const OutFolder&) = delete;
  OutFolder& operator=(const OutFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// The work begins: the folder stays, and a run that is to be overwritten goes.
  void begin();
  /// It came to nothing after all: a new folder goes again, and an earlier run's samples are as they were.
  void withdraw() { began_ = false; }

 private:
  std::filesystem::path path_;
  std::optional<FolderLock> lock_;
  bool existed_ = false, replaces_ = false, began_ = false;
  std::optional<std::uintmax_t> samples_before_bytes_;  // of the run that is gone on with
};

}  // namespace evener::run
