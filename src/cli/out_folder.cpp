#include "cli/out_folder.h"

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "task/checkpoint.h"

namespace evener::cli {

namespace fs = std::filesystem;

fs::path default_out(const std::string& model) {
  std::string name = model;
  for (char& c : name) {
    if (c == ':' || c == '/') c = '-';
  }
  std::string stamp = utc_now_text();  // 2026-11-21T10:15:00Z
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  stamp[8] = '-';
  return fs::path("runs") / (name + "-" + stamp);
}

namespace {

void remove_run(const fs::path& folder) {
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    const bool old = name.starts_with("last.") || name == "best.safetensors" || name == "record.json" ||
                     name == "epochs.csv" || name == "report.html";
    if (old) fs::remove(file.path());
  }
}

}  // namespace

OutFolder::OutFolder(fs::path path, bool resume, bool overwrite) : path_(std::move(path)), existed_(fs::exists(path_)) {
  const bool holds_run = task::has_checkpoint(path_) || fs::exists(path_ / "record.json");
  if (holds_run && !resume && !overwrite) {
    throw UsageError(
        path_.string() +
        " holds a run already. Give another --out, --resume to go on with it, or --overwrite to replace it");
  }
  if (resume && !task::has_checkpoint(path_)) task::load_last(path_);  // throws, and says why
  replaces_ = holds_run && !resume;
  require_writable_directory(path_);
}

OutFolder::~OutFolder() {
  if (began_) return;
  std::error_code ignored;
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

}  // namespace evener::cli
