#include "engine/openvino/compile_cache.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace evener::engine::openvino_engine {
namespace {

namespace fs = std::filesystem;

struct Entry {
  fs::file_time_type written;
  std::uintmax_t bytes = 0;
  fs::path path;
};

}  // namespace

CompileCache::CompileCache(fs::path folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  if (!folder_.empty()) fs::create_directories(folder_, ignored);
}

CompileCache::~CompileCache() {
  if (folder_.empty()) return;
  std::error_code ignored;
  std::vector<Entry> entries;
  std::uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(folder_, ignored)) {
    if (file.path().extension() != ".blob") continue;
    entries.push_back({file.last_write_time(ignored), file.file_size(ignored), file.path()});
    bytes += entries.back().bytes;
  }
  std::ranges::sort(entries, {}, &Entry::written);
  for (const Entry& entry : entries) {
    if (bytes <= kMostBytes) return;
    if (fs::remove(entry.path, ignored)) bytes -= entry.bytes;
  }
}

}  // namespace evener::engine::openvino_engine
