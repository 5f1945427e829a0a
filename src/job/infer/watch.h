// Waits for new photos in folders (--watch).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace evener::job {

class PhotoWatch {
 public:
  /// Remembers the photos that are in `locations` (as data::Pictures takes them) now: they don't count as new. The
  /// locations may be empty or not exist yet.
  explicit PhotoWatch(std::vector<std::string> locations);

  /// How many photos there were at the beginning.
  std::size_t at_first() const { return at_first_; }

  /// Waits for files that are new or have changed, and then have stayed the same for a second, so that they are no
  /// longer being copied. Returns an empty list after a stop request.
  std::vector<std::string> wait();

 private:
  /// Size and modification time, which change while a file is written.
  using State = std::pair<std::uintmax_t, std::filesystem::file_time_type>;

  std::vector<std::string> locations_;
  std::size_t at_first_ = 0;
  std::map<std::string, State> known_;
  std::map<std::string, State> growing_;  // files that may still be incomplete
};

}  // namespace evener::job
