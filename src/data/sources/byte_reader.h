// Reads a file's bytes in sequence, whether it is gzipped or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/memory.h"

namespace evener::data {

/// Reads a file held in memory. Throws Error with the reason alone: gzip data that is damaged or cut short.
class ByteReader {
 public:
  explicit ByteReader(std::string_view file);
  ~ByteReader();

  /// Fills `out` as far as the file goes; returns how many bytes it wrote.
  std::size_t read(std::uint8_t* out, std::size_t count);
  /// Appends to `values` until it has `count` bytes or the file ends; returns how many are valid. Takes memory in
  /// steps, since a count out of a file is not to be trusted.
  std::uint64_t read_values(std::uint64_t count, PageBytes& values);
  /// An upper bound of the bytes in the whole file, unpacked.
  std::uint64_t possible_bytes() const;

 private:
  struct Inflater;

  std::size_t inflate_some(std::uint8_t* out, std::size_t count);

  std::string_view file_;
  std::size_t position_ = 0;  // of plain files
  bool at_end_ = false;
  std::unique_ptr<Inflater> inflater_;  // of gzipped files
};

}  // namespace evener::data
