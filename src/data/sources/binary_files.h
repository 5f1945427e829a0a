// Parses IDX files (MNIST's format, http://yann.lecun.com/exdb/mnist, "file formats") and CIFAR's binary files
// (https://www.cs.toronto.edu/~kriz/cifar.html, "binary version"), plain or gzipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory.h"

namespace evener::data {

/// An array of bytes with its extents.
struct IdxArray {
  std::vector<std::int64_t> extents;
  PageBytes values;
};

/// What the name of an IDX file says.
struct IdxName {
  std::string prefix;  // before the part: "" or "emnist-letters-"
  bool is_test = false;
  bool has_images = false;  // else labels
};

/// Knows {train,t10k,test}-{images,labels} followed by "idx3", "ubyte" or both, with '-', '.' or '_' between, plain or
/// .gz; nothing for other names and hidden ones.
std::optional<IdxName> parse_idx_name(const std::filesystem::path& path);

/// Parses a whole file held in memory, which must hold unsigned bytes in `dimensions` dimensions. Memory is taken only
/// for what the file can hold. Throws Error with the reason alone: wrong magic number (with the value), absurd extents,
/// cut short, more data than announced, damaged gzip data.
IdxArray parse_idx(std::string_view file, int dimensions);

enum class CifarKind : std::uint8_t { kCifar10, kCifar100 };

constexpr std::int64_t kCifarSide = 32;                                // pixels
constexpr std::size_t kCifarImageBytes = 3 * kCifarSide * kCifarSide;  // three planes: red, green, blue

/// What one file holds: records of one label (CIFAR-10) or two (CIFAR-100: coarse, fine) and an image.
struct CifarRecords {
  CifarKind kind = CifarKind::kCifar10;
  PageBytes bytes;

  std::size_t label_bytes() const { return kind == CifarKind::kCifar10 ? 1 : 2; }
  std::size_t record_bytes() const { return label_bytes() + kCifarImageBytes; }
  std::size_t size() const { return bytes.size() / record_bytes(); }
  /// The label of a record; for CIFAR-100 the fine one.
  std::uint8_t label(std::size_t record) const { return bytes[record * record_bytes() + label_bytes() - 1]; }
  const std::uint8_t* image(std::size_t record) const { return bytes.data() + record * record_bytes() + label_bytes(); }
};

/// 10 or 100.
std::size_t class_count(CifarKind kind);

/// Parses a whole file held in memory. Its length decides the kind, and `preferred` where the length fits both. Throws
/// Error with the reason alone: a length that is no whole number of records, a label out of range (with its record),
/// damaged gzip data.
CifarRecords parse_cifar(std::string_view file, CifarKind preferred = CifarKind::kCifar10);

}  // namespace evener::data
