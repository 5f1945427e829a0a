// Reads zip archives in memory: stored and deflated entries, zip64, data descriptors. Archives are untrusted: every
// offset is checked, entries may not share their bytes, and what is unpacked is limited by the size of the archive.
// Format: PKWARE's APPNOTE.TXT.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evener::weights {

struct ZipEntry {
  std::string_view name;
  std::uint64_t size = 0;    // unpacked
  std::uint64_t packed = 0;  // in the archive
  std::uint64_t header = 0;  // where its local header begins
  bool deflated = false;
};

class ZipReader {
 public:
  /// Reads the directory of the archive `bytes`, which has to outlive the reader. Throws Error saying what is wrong.
  explicit ZipReader(std::string_view bytes);

  /// All entries, sorted by name; each name occurs once.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// nullptr if there is none.
  const ZipEntry* find(std::string_view name) const;

  /// The unpacked content: a view into the archive, or into `buffer`, which it is unpacked to. Checksums aren't
  /// compared: PyTorch has an option that writes archives without them.
  std::string_view read(const ZipEntry& entry, std::string& buffer) const;

 private:
  std::string_view bytes_;
  std::vector<ZipEntry> entries_;
};

}  // namespace evener::weights
