// A lock on a folder, held by the process that writes to it; others can ask whether it is held.
#pragma once

#include <filesystem>

#include "base/descriptor.h"

namespace evener {

/// The state of a folder's lock; kUnknown on file systems without such locks (some network disks).
enum class LockState { kFree, kHeld, kUnknown };

/// An exclusive lock on a folder. The kernel frees it when this process and all that it has forked have ended, however
/// they end. No file is left behind.
class FolderLock {
 public:
  /// Takes the lock if it is free. Waits where another process holds it only for the moment of a folder_lock_state().
  explicit FolderLock(const std::filesystem::path& folder);

  /// kFree: this object has taken the lock. kHeld: another process has it. kUnknown: the file system has no locks.
  LockState found() const { return found_; }

 private:
  Descriptor folder_;
  LockState found_ = LockState::kUnknown;
};

/// Whether a process holds the lock of `folder` at this moment; doesn't change it.
LockState folder_lock_state(const std::filesystem::path& folder);

}  // namespace evener
