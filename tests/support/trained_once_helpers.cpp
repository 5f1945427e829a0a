#include "support/trained_once_helpers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "base/module.h"
#include "base/paths.h"
#include "support/run_program.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;

/// Held by one process at a time; the kernel gives it back also where its owner is killed.
class FileLock {
 public:
  explicit FileLock(const fs::path& path) : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0 || flock(file_, LOCK_EX) != 0) throw std::runtime_error("can't lock '" + path.string() + "'");
  }
  ~FileLock() { close(file_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

/// The program, its library and its modules, each with its size and date.
std::string program_facts() {
  std::vector<fs::path> files = {program_path()};
  for (const auto& entry : fs::recursive_directory_iterator(library_folder())) {
    if (entry.is_regular_file() && entry.path().filename().string().find(".so") != std::string::npos) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::ostringstream facts;
  for (const fs::path& file : files) {
    facts << file.filename().string() << ' ' << fs::file_size(file) << ' '
          << fs::last_write_time(file).time_since_epoch().count() << '\n';
  }
  return facts.str();
}

std::string key_of(const Words& words) {
  std::string text = program_facts();
  for (const std::string& word : words) text += word + '\n';
  std::ostringstream key;
  key << std::hex << std::hash<std::string>()(text);
  return key.str();
}

/// What other builds of the program, or runs that were killed, have left of `name`.
void remove_older(const fs::path& place, const std::string& name) {
  std::vector<fs::path> older;
  for (const auto& entry : fs::directory_iterator(place)) {
    const std::string found = entry.path().filename().string();
    if (entry.is_directory() && found.substr(0, found.rfind('-')) == name) older.push_back(entry.path());
  }
  for (const fs::path& path : older) fs::remove_all(path);
}

}  // namespace

bool trained_once(const std::string& name, const Words& words, const fs::path& folder) {
  const fs::path place = fs::path(program_path()).parent_path().parent_path() / "test-data";
  fs::create_directories(place);
  const fs::path kept = place / (name + "-" + key_of(words)), made = place / (name + "-new");
  const FileLock lock(place / (name + ".lock"));
  if (!fs::exists(kept)) {
    remove_older(place, name);
    const ProgramResult result = run_program(joined(words, {"--out", made.string()}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    if (result.exit_code != 0) return false;
    fs::rename(made, kept);
  }
  fs::copy(kept, folder, fs::copy_options::recursive);
  return true;
}

}  // namespace evener::test
