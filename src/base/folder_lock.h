// A lock on a folder: who writes to it holds it, and others can ask whether somebody does.
#pragma once

#include <filesystem>

#include "base/descriptor.h"

namespace evener {

/// What is known of a folder's lock. Some file systems (some network disks) have no such locks.
enum class LockState { kFree, kHeld, kUnknown };

/// An exclusive lock, which goes with its last holder: with this process and those that it has forked, however they
/// end. No file is left behind.
class FolderLock {
 public:
  /// Takes the lock if it is free. A short look by another process (folder_lock_state) is waited for.
  explicit FolderLock(const std::filesystem::path& folder);

  /// kFree: this one has taken it. kHeld: another process has it. kUnknown: nothing is locked here.
  LockState found() const { return found_; }

 private:
  Descriptor folder_;
  LockState found_ = LockState::kUnknown;
};

/// Whether a process holds the lock of `folder` at this moment; it stays as it is.
LockState folder_lock_state(const std::filesystem::path& folder);

}  // namespace evener
