// The folder in which OpenVINO keeps compiled graphs, keyed by their content, the device and its own version. It never
// removes any: we do.
#pragma once

#include <filesystem>

namespace evener::engine::openvino_engine {

/// Keeps a folder bounded around one compilation.
class CompileCache {
 public:
  /// `folder`: made if need be; empty = nothing is kept. Nor is where it can't be made or written to, which is no
  /// reason to fail.
  explicit CompileCache(std::filesystem::path folder);
  /// Removes what was longest not used, until less than kMostBytes are left.
  ~CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  /// Empty = nothing is kept.
  const std::filesystem::path& folder() const { return folder_; }

  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

 private:
  std::filesystem::path folder_;
};

}  // namespace evener::engine::openvino_engine
