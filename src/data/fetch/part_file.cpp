#include "data/fetch/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace evener::data {

namespace fs = std::filesystem;

PartFile::PartFile(fs::path target)
    : target_(std::move(target)), path_(target_.string() + ".part"), origin_path_(path_.string() + ".from") {
  file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_.valid()) fail(errno);
  // Some network file systems have no locks; there a second process is not noticed, and the checksum tells.
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error("'" + path_.string() +
                "' is being written by another process, which downloads the same file; wait "
                "until that one is done, or choose another folder with --out");
  }
  size_ = size_of(file_, path_);
}

PartFile::~PartFile() {
  if (file_.valid() && size_ == 0) discard();
}

void PartFile::fail(int error_number) const {
  throw Error("can't write '" + path_.string() + "': " + file_error_text(error_number, path_));
}

PartFile::Origin PartFile::origin() const {
  constexpr std::uint64_t kLongest = 1U << 16;
  Origin origin;
  std::error_code missing;
  if (!fs::is_regular_file(origin_path_, missing)) return origin;
  std::istringstream lines(read_file(origin_path_, kLongest));
  std::getline(lines, origin.url);
  std::getline(lines, origin.version);
  return origin;
}

void PartFile::set_origin(const Origin& origin) {
  write_file_atomically(origin_path_, origin.url + "\n" + origin.version + "\n");
}

void PartFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
}

void PartFile::restart() {
  if (::ftruncate(file_.get(), 0) != 0) fail(errno);
  size_ = 0;
}

void PartFile::discard() {
  ::unlink(path_.c_str());
  ::unlink(origin_path_.c_str());
  file_.close();
}

void PartFile::finish() {
  if (::fsync(file_.get()) != 0 && errno != EINVAL) fail(errno);
  if (::rename(path_.c_str(), target_.c_str()) != 0) fail(errno);
  ::unlink(origin_path_.c_str());
  file_.close();
}

}  // namespace evener::data
