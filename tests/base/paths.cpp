#include "base/paths.h"

namespace evener::test {

std::filesystem::path source_folder() {
  return EVENER_SOURCE_DIR;
}

std::string program_path() {
  return EVENER_PROGRAM;
}

}  // namespace evener::test
