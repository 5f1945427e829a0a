#include "data/write_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/codecs/png_encode.h"
#include "data/each_index.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

/// A folder that goes away with its content unless it is given its final name.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) { require_writable_directory(path_); }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const fs::path& path() const { return path_; }
  void rename(const fs::path& to) {
    std::error_code error;
    fs::rename(path_, to, error);  // replaces an empty folder
    if (error) throw Error("can't rename '" + path_.string() + "' to '" + to.string() + "': " + error.message());
    path_.clear();
  }

 private:
  fs::path path_;
};

void write_plainly(const fs::path& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) throw Error("can't write '" + path.string() + "': " + std::strerror(errno));
}

}  // namespace

void write_image_folder(const Dataset& dataset, const fs::path& folder, int threads) {
  std::error_code error;
  if (fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error))) {
    throw Error("'" + folder.string() + "' exists and is not an empty folder; remove it or choose another name");
  }
  // The name without a trailing slash, so that the temporary folder stands beside it.
  const fs::path target = folder.has_filename() ? folder : folder.parent_path();
  TemporaryFolder work(target.string() + ".tmp-" + std::to_string(::getpid()));
  for (const std::string& name : dataset.classes()) {
    fs::create_directory(work.path() / name, error);
    if (error) throw Error("can't create '" + (work.path() / name).string() + "': " + error.message());
  }
  for_each_index(dataset.size(), threads, [&](std::size_t i) {
    std::vector<std::uint8_t> pixels(dataset.shape().bytes());
    dataset.read(i, pixels);
    const std::string& name = dataset.classes()[static_cast<std::size_t>(label_of(dataset, i))];
    write_plainly(work.path() / name / fmt::format("{:06}.png", i), encode_png(dataset.shape(), pixels));
  });
  work.rename(target);
}

}  // namespace evener::data
