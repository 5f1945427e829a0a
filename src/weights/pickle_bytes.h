// Reads the bytes of a pickle. For weights/pickle.cpp only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"

namespace evener::weights::pickle {

/// Reads them from front to back. Throws Error where they end too soon.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - position_) {
      throw Error("its pickle is cut short: " + std::to_string(count) + " bytes are needed at byte " +
                  std::to_string(position_) + ", " + std::to_string(bytes_.size() - position_) + " are left");
    }
    const std::string_view taken = bytes_.substr(position_, count);
    position_ += count;
    return taken;
  }

  /// Returns the bytes up to the next line feed, which is skipped.
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) throw Error("its pickle is cut short within a name");
    const std::string_view taken = bytes_.substr(position_, end - position_);
    position_ = end + 1;
    return taken;
  }

  /// Little-endian.
  template <class T>
  T number() {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
};

}  // namespace evener::weights::pickle
