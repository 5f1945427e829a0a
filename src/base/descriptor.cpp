#include "base/descriptor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

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
  if (error_number == ENOSPC) {
    return "the disk is full" + free_space_text(path) + "; free some space or choose a folder on another disk";
  }
  if (error_number == EDQUOT) {
    return "your disk quota is used up" + free_space_text(path) + "; free some space or choose another folder";
  }
  constexpr std::pair<int, const char*> kTexts[] = {
      {EACCES, "no permission; change the rights (chmod, chown) or choose another place"},
      {EPERM, "no permission; change the rights (chmod, chown) or choose another place"},
      {EROFS, "the file system is read-only; choose a folder that can be written to"},
      {ENOENT, "it does not exist; check the name and that the folder exists"},
      {ENOTDIR, "a part of the path is a file, not a folder"},
      {EISDIR, "it is a folder, not a file"},
      {ENAMETOOLONG, "the name is too long"},
      {EMFILE, "too many files are open; raise the limit (ulimit -n)"},
      {ENFILE, "too many files are open; raise the limit (ulimit -n)"},
      {EFBIG, "the file would be larger than the file system or ulimit -f allows"},
      {EIO, "the disk reports an input/output error; look at the system log"}};
  const auto* const known = std::ranges::find(kTexts, error_number, &std::pair<int, const char*>::first);
  return known == std::end(kTexts) ? std::strerror(error_number) : known->second;
}

namespace {

[[noreturn]] void fail_to_read(const std::filesystem::path& path, int error_number) {
  throw Error("can't read '" + path.string() + "': " + file_error_text(error_number, path));
}

}  // namespace

Pipe::Pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("can't make a pipe: ") + std::strerror(errno));
  reader = Descriptor(ends[0]);
  writer = Descriptor(ends[1]);
}

Descriptor open_for_reading(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) fail_to_read(path, errno);
  struct stat info {};
  if (fstat(file.get(), &info) == 0 && S_ISDIR(info.st_mode)) fail_to_read(path, EISDIR);
  return file;
}

std::uint64_t size_of(const Descriptor& file, const std::filesystem::path& path) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) fail_to_read(path, errno);
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
    if (got < 0) fail_to_read(path, errno);
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
