#include "job/infer/watch.h"

#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/stop.h"
#include "data/open/pictures.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> photos_in(const std::vector<std::string>& locations) {
  std::vector<std::string> files;
  for (const std::string& location : locations) {  // one of them may not be there yet
    try {
      const data::Pictures pictures({location});
      for (std::size_t i = 0; i < pictures.size(); ++i) files.push_back(pictures.source(i));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {  // there are none at this moment
    }
  }
  return files;
}

/// False: a stop was asked for meanwhile.
bool wait_a_second() {
  for (int i = 0; i < 10; ++i) {
    if (stop_requested()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return !stop_requested();
}

/// Absent: the file has vanished.
std::optional<std::pair<std::uintmax_t, fs::file_time_type>> state_of(const std::string& file) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error) return std::nullopt;
  const fs::file_time_type time = fs::last_write_time(file, error);
  return error ? std::nullopt : std::optional(std::pair(bytes, time));
}

}  // namespace

PhotoWatch::PhotoWatch(std::vector<std::string> locations) : locations_(std::move(locations)) {
  for (const std::string& file : photos_in(locations_)) {
    if (const auto state = state_of(file)) known_.emplace(file, *state);
  }
  at_first_ = known_.size();
}

std::vector<std::string> PhotoWatch::wait() {
  std::vector<std::string> complete;
  while (complete.empty() && wait_a_second()) {
    for (const std::string& file : photos_in(locations_)) {
      const std::optional<State> state = state_of(file);
      const auto known = known_.find(file);
      if (!state || (known != known_.end() && known->second == *state)) continue;
      const auto before = growing_.find(file);
      if (before == growing_.end() || before->second != *state) {
        growing_[file] = *state;
        continue;
      }
      growing_.erase(before);
      known_[file] = *state;
      complete.push_back(file);
    }
  }
  return complete;
}

}  // namespace evener::job
