#include "run/out_folder.h"

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "task/checkpoint.h"

namespace evener::run {

namespace fs = std::filesystem;

fs::path default_out(const std::string& name) {
  std::string folder = name;
  for (char& c : folder) {
    if (c == ':' || c == '/') c = '-';
  }
  std::string stamp = utc_now_text();  // 2026-11-21T10:15:00Z
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  stamp[8] = '-';
  return fs::path("runs") / (folder + "-" + stamp);
}

namespace {

void remove_run(const fs::path& folder) {
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    const bool old = name.starts_with("last.") || name == "best.safetensors" || name == "record.json" ||
                     name == "epochs.csv" || name == "report.html" || name.starts_with("best.new-");
    if (old) fs::remove(file.path());
  }
}

/// Locks `folder`, which is there. Throws UsageError if another process holds it.
FolderLock locked(const fs::path& folder) {
  FolderLock lock(folder);
  if (lock.found() == LockState::kHeld) {
    throw UsageError("another run is writing to " + folder.string() + ". Wait for its end, or give another --out");
  }
  if (lock.found() == LockState::kFree) remove_left_temporaries(folder);
  return lock;
}

}  // namespace

OutFolder::OutFolder(fs::path path, bool resume, bool overwrite) : path_(std::move(path)), existed_(fs::exists(path_)) {
  // A folder that is there is locked first: what it holds may change as long as another run writes to it.
  if (existed_ && fs::is_directory(path_)) lock_ = locked(path_);
  const bool holds_run = task::has_checkpoint(path_) || fs::exists(path_ / "record.json");
  if (holds_run && !resume && !overwrite) {
    const std::string go_on = task::has_checkpoint(path_) ? "--resume " + path_.string() + " to go on with it, " : "";
    throw UsageError(path_.string() + " holds a run already. Give another --out, " + go_on +
                     "or --overwrite to replace it");
  }
  if (resume && !task::has_checkpoint(path_)) task::load_last(path_);  // throws, and says why
  replaces_ = holds_run && !resume;
  require_writable_directory(path_);
  if (!lock_) lock_ = locked(path_);
  std::error_code none;
  const std::uintmax_t samples_bytes = fs::file_size(path_ / kSamples, none);
  if (resume && !none) samples_before_bytes_ = samples_bytes;
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
  std::error_code ignored;  // none where a run goes on
  fs::rename(path_ / kNewSamples, path_ / kSamples, ignored);
}

}  // namespace evener::run
