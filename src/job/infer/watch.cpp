#include "job/infer/watch.h"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/stop.h"
#include "data/pictures.h"

namespace evener::job {
namespace {

std::vector<std::string> photos_in(const std::vector<std::string>& locations) {
  std::vector<std::string> files;
  try {
    const data::Pictures pictures(locations);
    for (std::size_t i = 0; i < pictures.size(); ++i) files.push_back(pictures.source(i));
  } catch (const Error&) {  // there are none at this moment
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

}  // namespace

PhotoWatch::PhotoWatch(std::vector<std::string> locations) : locations_(std::move(locations)) {
  for (std::string& file : photos_in(locations_)) known_.insert(std::move(file));
}

std::vector<std::string> PhotoWatch::wait() {
  std::vector<std::string> complete;
  while (complete.empty() && wait_a_second()) {
    for (const std::string& file : photos_in(locations_)) {
      if (known_.contains(file)) continue;
      std::error_code vanished;
      const std::uintmax_t bytes = std::filesystem::file_size(file, vanished);
      if (vanished) continue;
      const auto before = growing_.find(file);
      if (before == growing_.end() || before->second != bytes) {
        growing_[file] = bytes;
        continue;
      }
      growing_.erase(before);
      known_.insert(file);
      complete.push_back(file);
    }
  }
  return complete;
}

}  // namespace evener::job
