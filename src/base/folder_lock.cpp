#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace evener {
namespace {

Descriptor open_folder(const std::filesystem::path& folder) {
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

LockState try_lock(const Descriptor& folder, int kind) {
  if (!folder.valid()) return LockState::kUnknown;
  if (::flock(folder.get(), kind | LOCK_NB) == 0) return LockState::kFree;
  return errno == EWOULDBLOCK ? LockState::kHeld : LockState::kUnknown;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : folder_(open_folder(folder)) {
  constexpr int kTries = 5;  // a look takes microseconds
  for (int left = kTries; left > 0; --left) {
    found_ = try_lock(folder_, LOCK_EX);
    if (found_ != LockState::kHeld) return;
    if (left > 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  folder_.close();
}

LockState folder_lock_state(const std::filesystem::path& folder) {
  const Descriptor handle = open_folder(folder);
  return try_lock(handle, LOCK_EX);  // as who writes there asks for it; it goes with the handle
}

}  // namespace evener
