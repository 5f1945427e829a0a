#include "measure/limits/limit_state.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "measure/sensors/proc_files.h"
#include "record/described_json.h"

namespace evener::measure {

template <typename Fields>
void describe(Fields& fields, Of<FormerValue> auto& value) {
  fields.required("id", value.id);
  fields.required("counts", value.counts);
}

template <typename Fields>
void describe(Fields& fields, Of<LimitState> auto& state) {
  fields.required("process", state.process);
  fields.required("began_ticks", state.began_ticks);
  fields.required("boot", state.boot);
  fields.required("former", state.former);
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "limits.json";

std::string boot_id() {
  return read_first_line("/proc/sys/kernel/random/boot_id").value_or("");
}

std::optional<std::uint64_t> process_start(int process) {
  const auto text = read_small_file(fmt::format("/proc/{}/stat", process));
  return text ? parse_process_start(*text) : std::nullopt;
}

fs::path own_state_folder() {
  const auto user = ::geteuid();
  if (user == 0) return "/run/evener";
  std::error_code error;
  if (const char* given = std::getenv("XDG_RUNTIME_DIR"); given != nullptr && fs::is_directory(given, error)) {
    return fs::path(given) / "evener";
  }
  const fs::path usual = fmt::format("/run/user/{}", user);
  return fs::is_directory(usual, error) ? usual / "evener" : fs::path(fmt::format("/tmp/evener-{}", user));
}

/// Others who could write there would choose what this process sets.
void require_own_folder(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) {
    throw Error(fmt::format("{}, where limits are noted, can't be used: {}", folder.string(), std::strerror(errno)));
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw Error(fmt::format("{}, where limits are noted, is no folder that this user alone can write to; remove it",
                            folder.string()));
  }
}

FolderLock locked(const fs::path& folder) {
  constexpr int kTries = 100;
  constexpr std::chrono::milliseconds kBetween{50};  // setting the limits of a large machine takes far less than all
  for (int left = kTries;; --left) {
    FolderLock lock(folder);
    if (lock.found() != LockState::kHeld) return lock;
    if (left == 0) break;
    std::this_thread::sleep_for(kBetween);
  }
  throw Error(fmt::format("another run keeps changing limits ({} is locked); end it, or try again", folder.string()));
}

/// Throws Error; nothing where there is no such file.
std::optional<LimitState> read_state(const fs::path& file) {
  const std::optional<std::string> text = read_small_file(file);
  if (!text) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) throw Error(file.string() + " is cut short, or was not written by this program");
  LimitState state;
  record::read_described(json, file.string(), state);
  return state;
}

}  // namespace

LimitPlaces limit_places() {
  if (const char* root = std::getenv("EVENER_SYS_ROOT"); root != nullptr && *root != '\0') {
    return {.root = root, .state = fs::path(root) / "run/evener"};
  }
  const bool is_root = ::geteuid() == 0;
  return {.state = own_state_folder(), .others_state = is_root ? fs::path() : fs::path("/run/evener")};
}

LimitState own_limit_state(std::vector<FormerValue> former) {
  const int process = ::getpid();
  return {process, process_start(process).value_or(0), boot_id(), std::move(former)};
}

LimitOwner owner_of(const LimitState& state) {
  if (state.boot != boot_id()) return LimitOwner::kOtherBoot;
  return process_start(state.process) == state.began_ticks ? LimitOwner::kRuns : LimitOwner::kEnded;
}

LimitStateFile::LimitStateFile(const fs::path& folder) : folder_(folder) {
  std::error_code error;
  fs::create_directories(folder_.parent_path(), error);
  const mode_t mode = ::geteuid() == 0 ? 0755 : 0700;
  if (::mkdir(folder_.c_str(), mode) != 0 && errno != EEXIST) {
    throw Error(fmt::format("{}, where limits are noted, can't be made: {}", folder_.string(), std::strerror(errno)));
  }
  require_own_folder(folder_);
  lock_.emplace(locked(folder_));
  remove_left_temporaries(folder_);
}

std::optional<LimitState> LimitStateFile::read() const {
  return read_state(folder_ / kFile);
}

void LimitStateFile::write(const LimitState& state) const {
  write_file_atomically(folder_ / kFile, record::described_json(state).dump(2) + "\n");
}

void LimitStateFile::remove() const {
  std::error_code error;
  fs::remove(folder_ / kFile, error);
}

bool has_limit_state(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / kFile, error);
}

std::optional<LimitState> peek_limit_state(const fs::path& folder) {
  try {
    return read_state(folder / kFile);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace evener::measure
