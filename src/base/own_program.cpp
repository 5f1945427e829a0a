#include "base/own_program.h"

#include <string>
#include <string_view>

#include "base/error.h"
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

}  // namespace

fs::path program_to_start() {
  return is_this_process() ? fs::path(kThisProcess) : beside_the_library();
}

fs::path program_file() {
  return is_this_process() ? file_of_this_process() : beside_the_library();
}

}  // namespace evener
