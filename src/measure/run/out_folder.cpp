#include "measure/run/out_folder.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"

namespace evener::measure {

namespace fs = std::filesystem;

namespace {

/// Whether a file of this name is written by `train`, `infer`, `detect` or `quantize`. All of them have to be removed
/// with a run, or later commands would take old weights and tables for those of the new record.
bool is_of_run(const std::string& name) {
  constexpr std::array<std::string_view, 17> kFiles = {"record.json",
                                                       "report.html",
                                                       "epochs.csv",
                                                       "best.safetensors",
                                                       "quantized.safetensors",
                                                       "quantized.onnx",
                                                       "layers.csv",
                                                       "metrics.csv",
                                                       "confusion.csv",
                                                       "predictions.csv",
                                                       "detections.csv",
                                                       "answers.json",
                                                       "latencies.csv",
                                                       "detection.json",
                                                       "calibration.json",
                                                       "best.calibration.safetensors",
                                                       "quantized.calibration.safetensors"};
  return name.starts_with("last.") || name.starts_with("best.new-") || std::ranges::find(kFiles, name) != kFiles.end();
}

void remove_run(const fs::path& folder) {
  for (const auto& file : fs::directory_iterator(folder)) {
    if (is_of_run(file.path().filename().string())) fs::remove(file.path());
  }
}

/// The first of `files` that would be removed with the run in `folder`; empty = none.
fs::path removed_with_run(const fs::path& folder, const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    std::error_code none;
    const fs::path real = file.empty() ? fs::path() : fs::canonical(file, none);
    if (!real.empty() && fs::equivalent(real.parent_path(), folder, none) && is_of_run(real.filename().string())) {
      return file;
    }
  }
  return {};
}

/// Locks `folder`, which must exist. Throws UsageError if another process holds the lock.
FolderLock locked(const fs::path& folder) {
  FolderLock lock(folder);
  if (lock.found() == LockState::kHeld) {
    throw UsageError("another run is writing to " + folder.string() + ". Wait for its end, or give another --out");
  }
  if (lock.found() == LockState::kFree) remove_left_temporaries(folder);
  return lock;
}

/// Makes a new folder for a run without --out; two runs that begin at the same moment get different ones. If it can't
/// be made, require_writable_directory() reports why later.
fs::path new_folder(const std::string& name) {
  std::string stem = name;
  for (char& c : stem) {
    if (c == ':' || c == '/') c = '-';
  }
  std::string stamp = utc_now_text();  // 2026-11-21T10:15:00Z
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  stamp[8] = '-';
  const fs::path runs = "runs";
  stem += "-" + stamp;
  fs::path path = runs / stem;
  std::error_code error;
  fs::create_directories(runs, error);
  for (int number = 2; !fs::create_directory(path, error) && !error; ++number) {
    path = runs / (stem + "-" + std::to_string(number));
  }
  return path;
}

}  // namespace

bool has_checkpoint(const fs::path& folder) {
  return fs::exists(folder / kLastCheckpoint);
}

void require_checkpoint(const fs::path& folder) {
  if (has_checkpoint(folder)) return;
  throw Error("nothing to resume: " + (folder / kLastCheckpoint).string() +
              " does not exist. Leave out --resume to start, or name the folder of the earlier run with --out");
}

OutFolder::OutFolder(const OutFolderOptions& options)
    : path_(options.path.empty() ? new_folder(options.name) : options.path),
      existed_(!options.path.empty() && fs::exists(path_)) {
  // Lock an existing folder first, because its contents may change while another run writes to it.
  if (fs::is_directory(path_)) lock_ = locked(path_);
  const bool holds_run = has_checkpoint(path_) || fs::exists(path_ / "record.json");
  replaces_ = holds_run && !options.resume;
  if (const fs::path read = removed_with_run(path_, options.reads); replaces_ && !read.empty()) {
    throw UsageError(path_.string() + " holds '" + read.string() +
                     "', which this run starts from and would remove; give another --out");
  }
  if (replaces_ && !options.overwrite) {
    const bool goes_on = options.can_resume && has_checkpoint(path_);
    throw UsageError(path_.string() + " holds a run already. Give another --out, " +
                     (goes_on ? "--resume " + path_.string() + " to go on with it, " : "") +
                     "or --overwrite to replace it");
  }
  if (options.resume && holds_run && !has_checkpoint(path_)) {
    throw Error("nothing to resume: the run in " + path_.string() +
                " ended before its first checkpoint, which is written after its first epoch; begin again with "
                "--overwrite instead of --resume");
  }
  if (options.resume) require_checkpoint(path_);
  require_writable_directory(path_);
  if (!lock_) lock_ = locked(path_);
  std::error_code none;
  const std::uintmax_t samples_bytes = fs::file_size(path_ / kSamples, none);
  if (options.resume && !none) samples_before_bytes_ = samples_bytes;
}

OutFolder::~OutFolder() {
  if (began_) return;
  std::error_code ignored;
  if (samples_before_bytes_) fs::resize_file(path_ / kSamples, *samples_before_bytes_, ignored);
  fs::remove(path_ / kNewSamples, ignored);
  if (!existed_) fs::remove(path_ / kSamples, ignored);
  if (!existed_) fs::remove(path_, ignored);  // only if empty
}

void OutFolder::begin() {
  began_ = true;
  if (replaces_) remove_run(path_);
  std::error_code ignored;  // a resumed run has no such file
  fs::rename(path_ / kNewSamples, path_ / kSamples, ignored);
}

}  // namespace evener::measure
