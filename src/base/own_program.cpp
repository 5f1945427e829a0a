#include "base/own_program.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/files.h"
#include "base/module.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "evener";
constexpr const char* kThisProcess = "/proc/self/exe";

fs::path file_of_this_process() {
  // The suffix by which /proc marks a file that was deleted or replaced since this process began.
  constexpr std::string_view kDeleted = " (deleted)";
  std::error_code error;
  std::string file = fs::read_symlink(kThisProcess, error).string();
  if (file.ends_with(kDeleted)) file.resize(file.size() - kDeleted.size());
  return file;
}

/// The program of the installation or build that the library belongs to: its bin/ is beside the library's folder, or
/// one level further up.
fs::path beside_the_library() {
  const fs::path library = library_folder();
  for (const fs::path& prefix : {library.parent_path(), library.parent_path().parent_path()}) {
    std::error_code none;
    if (fs::is_regular_file(prefix / "bin" / kName, none)) return prefix / "bin" / kName;
  }
  throw Error("the program '" + std::string(kName) + "', which does this work, is not installed with the library in '" +
              library.string() + "'; install the package whole");
}

bool is_this_process() {
  return file_of_this_process().filename() == kName;
}

const char library_symbol = 0;  // its address tells which file this code was loaded from

}  // namespace

fs::path program_to_start() {
  return is_this_process() ? fs::path(kThisProcess) : beside_the_library();
}

fs::path program_file() {
  return is_this_process() ? file_of_this_process() : beside_the_library();
}

std::vector<fs::path> program_files() {
  std::vector<fs::path> files = {program_file()};
  std::error_code error;
  Dl_info info{};
  if (dladdr(&library_symbol, &info) == 0 || info.dli_fname == nullptr) return files;
  const fs::path library = fs::absolute(info.dli_fname, error);
  files.push_back(library);
  const fs::path modules = library.parent_path() / "evener" / "modules";
  for (auto entry = fs::directory_iterator(modules, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    files.push_back(entry->path());
  }
  std::sort(files.begin() + 2, files.end());
  return files;
}

std::string program_identity() {
  std::string all;
  for (const fs::path& file : program_files()) {
    std::error_code error;
    if (!fs::is_regular_file(file, error)) continue;
    all += fmt::format("{} {:016x}\n", file.filename().string(), content_hash(read_file(file)));
  }
  return fmt::format("{:016x}", content_hash(all));
}

}  // namespace evener
