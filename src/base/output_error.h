// The error of output that can't be written. It is no fault of the item being worked on, so the run ends instead of
// skipping that item.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace evener {

/// Output can't be written, such as when the disk is full or permission is lacking; the message names the file.
class OutputError : public Error {
 public:
  using Error::Error;
};

/// Throws OutputError, whose message says what `error_number` (an errno; 0: unknown) means for `path`, and what to do.
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error_number);

}  // namespace evener
