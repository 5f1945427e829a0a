// Writing files so that nothing half-written stays behind, and reading them whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace evener {

/// Output can't be written, such as when the disk is full or permission is lacking; the message names the file. It is
/// no fault of the item being worked on, so the run ends instead of skipping that item.
class OutputError : public Error {
 public:
  using Error::Error;
};

/// Throws OutputError, whose message says what `error_number` (an errno; 0: unknown) means for `path`, and what to do.
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error_number);

/// Writes through `fill` to a new file "<path>.tmp-<pid>", syncs it to the disk, renames it to `path`. On failure the
/// temporary file is removed and an Error tells the path and the reason (disk full, no permission, read-only).
void write_file_atomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& fill);
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Proves that write_file_atomically() could write `path`, without touching what is there. Throws Error as it does.
void require_writable_file(const std::filesystem::path& path);
/// Whether the file has a name such as these functions give to temporary files.
bool is_temporary_name(const std::filesystem::path& file);
/// Removes the temporary files that killed processes have left in `folder`. The caller must hold the folder's lock,
/// lest the file of a process that is still writing be removed.
void remove_left_temporaries(const std::filesystem::path& folder);

/// The whole file as bytes. Throws Error if it can't be read or is larger than `limit_bytes`.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit_bytes = std::uint64_t{1} << 32);

/// Creates `dir` if needed and proves that it can be written to, by creating and removing a file in it.
/// Throws Error with the reason. `needed_bytes` beyond the free space is an error too.
void require_writable_directory(const std::filesystem::path& dir, std::uint64_t needed_bytes = 0);

/// Writes the content of `from` to `path` as write_file_atomically() does, but without syncing to the disk: a lost copy
/// can be made again. Keeps the file's permissions and modification time. Throws Error, which says how many bytes are
/// needed when the disk is full, and when `from` changed meanwhile.
void copy_file_atomically(const std::filesystem::path& from, const std::filesystem::path& path);

}  // namespace evener
