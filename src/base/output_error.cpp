#include "base/output_error.h"

#include <cerrno>

#include "base/descriptor.h"

namespace evener {

void fail_to_write(const std::filesystem::path& path, int error_number) {
  throw OutputError("can't write '" + path.string() +
                    "': " + file_error_text(error_number == 0 ? EIO : error_number, path));
}

}  // namespace evener
