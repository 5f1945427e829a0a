#include "report/report_helpers.h"

#include <cstdlib>
#include <stdexcept>

namespace evener::test {

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "evener-report-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("can't make a temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace evener::test
