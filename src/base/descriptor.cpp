#include "base/descriptor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/names.h"

namespace evener {
namespace {

// " (1.2 MB free)" for the file system that holds the nearest existing folder of `path`; "" if unknown.
std::string free_space_text(std::filesystem::path path) {
  struct statvfs info {};
  if (path.empty()) path = ".";
  while (statvfs(path.c_str(), &info) != 0) {
    const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    if (parent == path) return "";
    path = parent;
  }
  return " (" + bytes_text(static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize) + " free)";
}

}  // namespace

int Descriptor::close() {
  if (fd_ < 0) return 0;
  return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno;
}

std::string file_error_text(int error_number, const std::filesystem::path& path) {
  switch (error_number) {
    case ENOSPC:
      return "the disk is full" + free_space_text(path) + "; free some space or choose a folder on another disk";
    case EDQUOT:
      return "your disk quota is used up" + free_space_text(path) + "; free some space or choose another folder";
    case EACCES:
    case EPERM:
      return "no permission; change the rights (chmod, chown) or choose another place";
    case EROFS:
      return "the file system is read-only; choose a folder that can be written to";
    case ENOENT:
      return "it does not exist; check the name and that the folder exists";
    case ENOTDIR:
      return "a part of the path is a file, not a folder";
    case EISDIR:
      return "it is a folder, not a file";
    case ENAMETOOLONG:
      return "the name is too long";
    case EMFILE:
    case ENFILE:
      return "too many files are open; raise the limit (ulimit -n)";
    case EFBIG:
      return "the file would be larger than the file system or ulimit -f allows";
    case EIO:
      return "the disk reports an input/output error; look at the system log";
    default:
      return std::strerror(error_number);
  }
}

Descriptor open_for_reading(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) throw Error("can't read '" + path.string() + "': " + file_error_text(errno, path));
  struct stat info {};
  if (fstat(file.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    throw Error("can't read '" + path.string() + "': " + file_error_text(EISDIR, path));
  }
  return file;
}

std::uint64_t size_of(const Descriptor& file, const std::filesystem::path& path) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) throw Error("can't read '" + path.string() + "': " + file_error_text(errno, path));
  return static_cast<std::uint64_t>(info.st_size);
}

std::size_t read_at(const Descriptor& file, const std::filesystem::path& path, std::uint64_t offset, void* target,
                    std::size_t count) {
  constexpr std::size_t kLargestRead = std::size_t{1} << 30;  // Linux cuts longer reads anyway
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = pread(file.get(), static_cast<char*>(target) + done, std::min(count - done, kLargestRead),
                              static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error("can't read '" + path.string() + "': " + file_error_text(errno, path));
    done += static_cast<std::size_t>(got);
  }
  return done;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file = open_for_reading(path);
  size_ = size_of(file, path);
  if (size_ == 0) throw Error("can't map '" + path.string() + "' into memory: it is empty");
  void* place = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (place == MAP_FAILED)
    throw Error("can't map '" + path.string() + "' into memory: " + file_error_text(errno, path));
  begin_ = static_cast<const std::uint8_t*>(place);
}

MappedFile::~MappedFile() {
  ::munmap(const_cast<std::uint8_t*>(begin_), size_);
}

}  // namespace evener
