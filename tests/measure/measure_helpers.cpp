#include "measure/measure_helpers.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace evener::test {

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "evener-measure-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("can't make a temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Folder::put(const std::string& name, const std::string& content) const {
  std::filesystem::create_directories((path_ / name).parent_path());
  std::ofstream(path_ / name, std::ios::binary) << content;
}

}  // namespace evener::test
