// CIFAR's binary files, plain or gzipped. Source: https://www.cs.toronto.edu/~kriz/cifar.html, "binary version".
#pragma once

#include <cstdint>
#include <string_view>

#include "base/memory.h"

namespace evener::data {

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
