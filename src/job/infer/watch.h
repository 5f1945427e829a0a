// Photos that come to a folder while somebody waits for them.
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
  /// What is in `locations` now (as data::Pictures takes them) is not waited for; there may be nothing, nor a folder.
  explicit PhotoWatch(std::vector<std::string> locations);

  /// How many photos there were at the beginning.
  std::size_t at_first() const { return at_first_; }

  /// Waits for files that weren't there before, or have changed since, as those do that are still being copied, and
  /// that have stayed the same for a second: they are complete. Empty: a stop was asked for.
  std::vector<std::string> wait();

 private:
  /// Size and time: what changes of a file that is written to.
  using State = std::pair<std::uintmax_t, std::filesystem::file_time_type>;

  std::vector<std::string> locations_;
  std::size_t at_first_ = 0;
  std::map<std::string, State> known_;
  std::map<std::string, State> growing_;  // of files that may not be complete
};

}  // namespace evener::job
