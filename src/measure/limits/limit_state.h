// The file that names the limits a run has changed and their former values, so that a later run can put them back if
// this one is killed. It is written before the first limit is changed, and goes when all were put back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/folder_lock.h"

namespace evener::measure {

/// Where limits are found, and noted. Tests have others.
struct LimitPlaces {
  std::filesystem::path root = "/";         // of sys/
  std::filesystem::path state;              // the folder of this user's state file
  std::filesystem::path others_state = {};  // the folder of root's, for other users; empty: none
  std::filesystem::path nvml = {};          // path of NVML; empty: the driver's own
};

/// This machine's: the state is in /run/evener for root, else in $XDG_RUNTIME_DIR, /run/user/UID or /tmp/evener-UID,
/// the first that is there. With $EVENER_SYS_ROOT, which is for tests, all is below that folder.
LimitPlaces limit_places();

struct FormerValue {
  std::string id;            // of the limit
  std::uint64_t counts = 0;  // its value before
};

/// A process and what it has changed.
struct LimitState {
  int process = 0;
  std::uint64_t began_ticks = 0;  // see parse_process_start()
  std::string boot;               // the kernel's id of this start of the machine; limits don't outlive it
  std::vector<FormerValue> former;
};

/// A state of this process.
LimitState own_limit_state(std::vector<FormerValue> former);

enum class LimitOwner { kRuns, kEnded, kOtherBoot };
LimitOwner owner_of(const LimitState& state);

/// The state file of a folder, locked against other processes for the object's lifetime.
class LimitStateFile {
 public:
  /// Makes the folder (for its owner alone, root's readable by all). Throws Error if that fails, if the folder belongs
  /// to somebody else, or if another process keeps the lock for longer than it takes to set limits.
  explicit LimitStateFile(const std::filesystem::path& folder);

  /// Absent: no limits are noted. Throws Error for a file that is no state, such as one that was cut short.
  std::optional<LimitState> read() const;
  void write(const LimitState& state) const;
  void remove() const;

 private:
  const std::filesystem::path folder_;
  std::optional<FolderLock> lock_;
};

/// Whether a state file is in the folder; a look without the lock.
bool has_limit_state(const std::filesystem::path& folder);
/// What the folder's state file says, without the lock; nothing where it can't be read.
std::optional<LimitState> peek_limit_state(const std::filesystem::path& folder);

}  // namespace evener::measure
