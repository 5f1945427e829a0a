// Photos that come to a folder while somebody waits for them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace evener::job {

class PhotoWatch {
 public:
  /// What is in `locations` now (as data::Pictures takes them) is not waited for.
  explicit PhotoWatch(std::vector<std::string> locations);

  /// Waits for files that weren't there before and whose size has stayed the same for a second: they are complete.
  /// Empty: a stop was asked for.
  std::vector<std::string> wait();

 private:
  std::vector<std::string> locations_;
  std::set<std::string> known_;
  std::map<std::string, std::uintmax_t> growing_;  // sizes of files that may not be complete
};

}  // namespace evener::job
