// The result of `evener faces`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/record.h"

namespace evener::job {

struct FacesRun {
  record::Record record;
  std::vector<std::string> summary;  // sentences
  std::filesystem::path results;     // where to look first: a page, or a folder
  bool was_stopped = false;          // a camera or a pipe, by the user
};

}  // namespace evener::job
