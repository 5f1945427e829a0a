// What a run makes can't be written: no fault of the item that is being worked on, so nobody goes on without it.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace evener {

/// The disk is full, or there are no rights; the message names the file.
class OutputError : public Error {
 public:
  using Error::Error;
};

/// Throws OutputError with what `error_number` (0: nobody knows) means for `path`, and what to do.
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error_number);

}  // namespace evener
