#include "data/new_folder.h"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace evener::data {

namespace fs = std::filesystem;

NewFolder::NewFolder(const fs::path& target) {
  std::error_code error;
  if (fs::exists(target, error) && !(fs::is_directory(target, error) && fs::is_empty(target, error))) {
    throw Error("'" + target.string() + "' exists and is not an empty folder; remove it or choose another name");
  }
  // The name without a trailing slash, so that the temporary folder stands beside it.
  target_ = target.has_filename() ? target : target.parent_path();
  const fs::path path = target_.string() + ".tmp-" + std::to_string(::getpid());
  require_writable_directory(path);
  path_ = path;
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void NewFolder::create(const fs::path& relative) const {
  std::error_code error;
  fs::create_directories(path_ / relative, error);
  if (error) throw Error("can't create '" + (path_ / relative).string() + "': " + error.message());
}

void NewFolder::write(const fs::path& relative, const std::string& content) const {
  const fs::path path = path_ / relative;
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) fail_to_write(path, errno);
}

void NewFolder::finish() {
  std::error_code error;
  fs::rename(path_, target_, error);  // replaces an empty folder
  if (error) throw Error("can't rename '" + path_.string() + "' to '" + target_.string() + "': " + error.message());
  path_.clear();
}

}  // namespace evener::data
