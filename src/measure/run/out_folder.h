// The folder that a run writes to: made, checked to be writable, locked, protected from being overwritten, and removed
// again if the run comes to nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/folder_lock.h"

namespace evener::measure {

/// The samples of a run, and their name until begin(): the folder may hold another run's samples that are replaced only
/// then.
inline constexpr const char* kSamples = "samples.csv";
inline constexpr const char* kNewSamples = "samples.csv.new";

/// The weights of a training's newest checkpoint.
inline constexpr const char* kLastCheckpoint = "last.safetensors";
/// Whether the run in `folder` can be resumed.
bool has_checkpoint(const std::filesystem::path& folder);
/// Throws Error where it can't, with what to do instead.
void require_checkpoint(const std::filesystem::path& folder);

struct OutFolderOptions {
  /// Empty: a new folder "runs/NAME-TIME" with `name` (of a model, say), or "runs/NAME-TIME-2" and so on if runs begin
  /// in the same second.
  std::filesystem::path path = {};
  std::string name = {};
  bool resume = false, overwrite = false;         // resume or replace the run in the folder
  bool can_resume = false;                        // the command has --resume
  std::vector<std::filesystem::path> reads = {};  // files the run starts from; empty paths are none
};

class OutFolder {
 public:
  /// Makes, checks and locks the folder, and removes temporary files of killed processes. Throws UsageError if the
  /// folder holds a run and neither `resume` nor `overwrite` is set, if overwriting would remove a file of `reads`, or
  /// if another run is writing to it; Error if there is nothing to resume or the folder isn't writable.
  explicit OutFolder(const OutFolderOptions& options);
  /// Without begin(): removes what this run has made, also the lines it added to the samples of a resumed run.
  ~OutFolder();
  OutFolder(const OutFolder&) = delete;
  OutFolder& operator=(const OutFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// The work begins: from now on the folder stays, and a run that is to be overwritten is removed.
  void begin();
  /// Undoes begin(): the destructor removes a new folder, or restores the samples of a resumed run.
  void withdraw() { began_ = false; }

 private:
  std::filesystem::path path_;
  std::optional<FolderLock> lock_;
  bool existed_ = false, replaces_ = false, began_ = false;
  std::optional<std::uintmax_t> samples_before_bytes_;  // size of a resumed run's samples.csv
};

}  // namespace evener::measure
