// The unfinished download NAME.part: locked by one process at a time, resumed later, renamed when it is whole.
// NAME.part.from beside it keeps which version of the file the server gave, so that pieces of two versions never mix.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace evener::data {

class PartFile {
 public:
  /// Where the bytes came from, and the server's mark of that version (ETag or date; "" = none).
  struct Origin {
    std::string url, version;
  };

  /// Opens or creates "<target>.part". Throws Error: not writable, or another process downloads the same file.
  explicit PartFile(std::filesystem::path target);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Where the bytes so far came from; {"", ""} if that isn't known.
  Origin origin() const;
  void set_origin(const Origin& origin);
  void append(std::string_view bytes);
  /// Empties the file, to download it from the start.
  void restart();
  /// Removes the file; afterwards only the destructor may be called.
  void discard();
  /// Syncs the file to the disk and renames it to its final name.
  void finish();

  /// Removes the file if it is empty; otherwise it stays, to be resumed.
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

 private:
  [[noreturn]] void fail(int error_number) const;

  std::filesystem::path target_, path_, origin_path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace evener::data
