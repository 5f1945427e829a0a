#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <streambuf>
#include <vector>

#include "base/descriptor.h"
#include "base/names.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTemporary = ".tmp-";     // before the number of the process that writes
constexpr const char* kProbe = ".write-test-";  // likewise

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Streams into a descriptor and keeps the errno of the first failure, which std::ofstream loses.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int fd) : fd_(fd), buffer_(std::size_t{1} << 20) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  int error_number() const { return error_number_; }

 protected:
  int_type overflow(int_type c) override {
    if (!flush_buffer()) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }
  int sync() override { return flush_buffer() ? 0 : -1; }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (count < epptr() - pptr()) return std::streambuf::xsputn(text, count);
    // Large blocks (a tensor's data) go out without a copy.
    if (!flush_buffer() || !write_all(text, static_cast<std::size_t>(count))) return 0;
    return count;
  }

 private:
  bool flush_buffer() {
    const bool done = write_all(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return done;
  }
  bool write_all(const char* text, std::size_t count) {
    while (count > 0 && error_number_ == 0) {
      const ssize_t written = ::write(fd_, text, count);
      if (written < 0) {
        if (errno != EINTR) error_number_ = errno;
        continue;
      }
      text += written;
      count -= static_cast<std::size_t>(written);
    }
    return error_number_ == 0;
  }

  int fd_;
  std::vector<char> buffer_;
  int error_number_ = 0;
};

// Removes a file unless told to keep it.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  void keep() { path_.clear(); }

 private:
  fs::path path_;
};

void fill_descriptor(int fd, const fs::path& path, const std::function<void(std::ostream&)>& fill) {
  DescriptorBuffer buffer(fd);
  std::ostream out(&buffer);
  fill(out);
  out.flush();
  if (buffer.error_number() != 0) fail_to_write(path, buffer.error_number());
  if (!out) throw OutputError("can't write '" + path.string() + "': the stream failed without saying why");
}

// Syncs a folder, so that a rename in it survives a power cut. File systems that can't do that (EINVAL) are no error.
void sync_folder(const fs::path& folder) {
  const Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.valid()) ::fsync(handle.get());
}

/// The temporary file in which the new content of `path` is written.
fs::path temporary_of(const fs::path& path) {
  return path.string() + kTemporary + std::to_string(::getpid());
}

/// Creates a new file, without following a symbolic link that somebody has put there. A file of that name is deleted: a
/// process with the same number has left it behind.
Descriptor create_new(const fs::path& path, mode_t mode) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Descriptor file(::open(path.c_str(), kFlags, mode));
  if (file.valid() || errno != EEXIST || ::unlink(path.c_str()) != 0) return file;
  return Descriptor(::open(path.c_str(), kFlags, mode));
}

/// The temporary file for `path`, for writing. Throws Error.
Descriptor create_temporary(const fs::path& path) {
  Descriptor file = create_new(temporary_of(path), 0666);
  if (file.valid()) return file;
  if (errno == ENOENT) {
    throw Error("can't write '" + path.string() + "': the folder '" + folder_of(path).string() + "' does not exist");
  }
  fail_to_write(path, errno);
}

/// Whether `path` is a device or a pipe, which can't be replaced by a rename. Throws Error for a folder.
bool is_written_in_place(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  if (S_ISDIR(info.st_mode)) fail_to_write(path, EISDIR);
  return !S_ISREG(info.st_mode);
}

// A device or pipe (/dev/null, /dev/stdout) must not be replaced by a file: it is written to as it is.
void write_in_place(const fs::path& path, const std::function<void(std::ostream&)>& fill) {
  const Descriptor target(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!target.valid()) fail_to_write(path, errno);
  fill_descriptor(target.get(), path, fill);
}

}  // namespace

void fail_to_write(const std::filesystem::path& path, int error_number) {
  throw OutputError("can't write '" + path.string() +
                    "': " + file_error_text(error_number == 0 ? EIO : error_number, path));
}

void write_file_atomically(const fs::path& path, const std::function<void(std::ostream&)>& fill) {
  if (is_written_in_place(path)) return write_in_place(path, fill);
  Descriptor file = create_temporary(path);
  const fs::path temporary = temporary_of(path);
  TemporaryFile guard(temporary);
  fill_descriptor(file.get(), path, fill);
  if (::fsync(file.get()) != 0 && errno != EINVAL) fail_to_write(path, errno);
  if (const int error_number = file.close(); error_number != 0) fail_to_write(path, error_number);
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail_to_write(path, errno);
  guard.keep();
  sync_folder(folder_of(path));
}

void copy_file_atomically(const fs::path& from, const fs::path& path) {
  const Descriptor source = open_for_reading(from);
  const std::uint64_t bytes = size_of(source, from);
  struct stat info {};
  ::fstat(source.get(), &info);
  Descriptor file = create_temporary(path);
  const fs::path temporary = temporary_of(path);
  TemporaryFile guard(temporary);
  std::uint64_t copied = 0;
  try {
    fill_descriptor(file.get(), path, [&](std::ostream& out) {
      std::vector<char> block(std::size_t{1} << 20);
      for (std::size_t got = 1; got > 0 && out; copied += got) {
        got = read_at(source, from, copied, block.data(), block.size());
        out.write(block.data(), static_cast<std::streamsize>(got));
      }
    });
    ::fchmod(file.get(), info.st_mode & 0777);
    const timespec times[] = {info.st_atim, info.st_mtim};
    ::futimens(file.get(), times);
    if (const int error_number = file.close(); error_number != 0) fail_to_write(path, error_number);
  } catch (const OutputError& error) {
    throw OutputError(std::string(error.what()) + "; the copy of '" + from.string() + "' needs " + bytes_text(bytes));
  }
  if (copied != bytes || fs::file_size(temporary) != bytes) {
    throw Error("'" + from.string() + "' changed while it was copied: it had " + std::to_string(bytes) +
                " bytes, and then " + std::to_string(copied));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail_to_write(path, errno);
  guard.keep();
}

void require_writable_file(const fs::path& path) {
  if (is_written_in_place(path)) return;  // opening a pipe would wait for its reader
  const Descriptor file = create_temporary(path);
  const TemporaryFile guard(temporary_of(path));
}

bool is_temporary_name(const fs::path& file) {
  const std::string name = file.filename().string();
  std::size_t number = name.rfind(kTemporary);
  number = number == std::string::npos ? (name.starts_with(kProbe) ? std::string_view(kProbe).size() : name.size())
                                       : number + std::string_view(kTemporary).size();
  return number < name.size() && name.find_first_not_of("0123456789", number) == std::string::npos;
}

void remove_left_temporaries(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (is_temporary_name(entry.path())) fs::remove(entry.path(), ignored);
  }
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  write_file_atomically(
      path, [content](std::ostream& out) { out.write(content.data(), static_cast<std::streamsize>(content.size())); });
}

std::string read_file(const fs::path& path, std::uint64_t limit_bytes) {
  const Descriptor file = open_for_reading(path);
  const auto refuse_size = [&](const std::string& size) {
    throw Error("can't read '" + path.string() + "': " + size + ", and more than " + bytes_text(limit_bytes) +
                " is not accepted here");
  };
  const std::uint64_t expected = size_of(file, path);
  if (expected > limit_bytes) refuse_size("it has " + bytes_text(expected));
  // The size is only a hint: files of /proc say 0, pipes have none, and a file may grow while it is read.
  constexpr std::size_t kMore_bytes = std::size_t{1} << 16;
  std::string content;
  content.reserve(expected + kMore_bytes);
  std::size_t chunk = expected + 1;
  while (true) {
    const std::size_t before = content.size();
    content.resize(before + chunk);
    const ssize_t got = ::read(file.get(), content.data() + before, chunk);
    if (got < 0 && errno != EINTR) throw Error("can't read '" + path.string() + "': " + file_error_text(errno, path));
    content.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (content.size() > limit_bytes) refuse_size("it goes on after " + bytes_text(limit_bytes));
    if (got == 0) return content;
    if (content.size() >= expected) chunk = kMore_bytes;
  }
}

void require_writable_directory(const fs::path& dir, std::uint64_t needed_bytes) {
  const auto fail = [&dir](const std::string& reason) {
    throw Error("can't write into the folder '" + dir.string() + "': " + reason);
  };
  if (dir.empty()) fail("its name is empty");
  std::error_code error;
  fs::create_directories(dir, error);
  if (error) fail(file_error_text(error.value(), dir));
  struct stat info {};
  if (::stat(dir.c_str(), &info) != 0) fail(file_error_text(errno, dir));
  if (!S_ISDIR(info.st_mode)) fail("it is a file, not a folder; choose another name");

  const fs::path probe = dir / (kProbe + std::to_string(::getpid()));
  const Descriptor file = create_new(probe, 0600);
  if (!file.valid()) fail(file_error_text(errno, dir));
  const TemporaryFile guard(probe);
  const char byte = 0;
  if (::write(file.get(), &byte, 1) != 1 || ::fsync(file.get()) != 0) fail(file_error_text(errno, dir));

  struct statvfs space {};
  if (needed_bytes == 0 || ::statvfs(dir.c_str(), &space) != 0) return;
  const std::uint64_t free_bytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  if (free_bytes < needed_bytes) {
    fail(bytes_text(needed_bytes) + " are needed and only " + bytes_text(free_bytes) +
         " are free; free some space or choose a folder on another disk");
  }
}

}  // namespace evener
