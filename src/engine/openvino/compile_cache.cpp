#include "engine/openvino/compile_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace evener::engine::openvino_engine {
namespace {

namespace fs = std::filesystem;

struct Entry {
  fs::path path;
  std::uintmax_t bytes = 0;
  std::int64_t used_s = 0;  // seconds since 1970 when it was last read or written, as far as the file system notes it
};

}  // namespace

CompileCache::CompileCache(fs::path folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  if (!folder_.empty()) fs::create_directories(folder_, ignored);
  // OpenVINO throws if it can't use the folder, so such a folder isn't used.
  if (!fs::is_directory(folder_, ignored) || access(folder_.c_str(), W_OK | X_OK) != 0) folder_.clear();
}

CompileCache::~CompileCache() {
  if (folder_.empty()) return;
  std::error_code ignored;
  std::vector<Entry> entries;
  std::uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(folder_, ignored)) {
    struct stat facts {};
    if (file.path().extension() != ".blob" || stat(file.path().c_str(), &facts) != 0) continue;
    entries.push_back({file.path(), static_cast<std::uintmax_t>(facts.st_size),
                       std::max(facts.st_atim.tv_sec, facts.st_mtim.tv_sec)});
    bytes += entries.back().bytes;
  }
  std::ranges::sort(entries, {}, &Entry::used_s);
  for (const Entry& entry : entries) {
    if (bytes <= kMostBytes) return;
    if (fs::remove(entry.path, ignored)) bytes -= entry.bytes;
  }
}

}  // namespace evener::engine::openvino_engine
