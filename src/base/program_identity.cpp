#include "base/program_identity.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/content_hash.h"
#include "base/files.h"
#include "base/own_program.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

const char library_symbol = 0;  // its address tells which file this code was loaded from

}  // namespace

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
