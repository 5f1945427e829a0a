// The folder in which OpenVINO keeps compiled graphs, keyed by their content, the device and its own version. OpenVINO
// never removes any, so this does.
#pragma once

#include <filesystem>

namespace evener::engine::openvino_engine {

/// Provides the folder for one compilation, and bounds its size afterwards.
class CompileCache {
 public:
  /// `folder` is made if need be; empty = nothing is kept. A folder that can't be made or written to is no error: then
  /// nothing is kept either.
  explicit CompileCache(std::filesystem::path folder);
  /// Removes the least recently used files, until less than kMostBytes are left.
  ~CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  /// The folder; empty = nothing is kept.
  const std::filesystem::path& folder() const { return folder_; }

  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

 private:
  std::filesystem::path folder_;
};

}  // namespace evener::engine::openvino_engine
