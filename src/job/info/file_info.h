// What is on disk: a run's folder, a file of weights, a network of another program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "job/description.h"

namespace evener::job {

struct FileInfoRequest {
  std::string path;
  std::optional<std::int64_t> width, height, channels;  // of a file whose input is open
};

/// Whether `model` is meant as a folder or a file, not as a network of the zoo.
bool is_info_of_file(const std::string& model);

/// Throws Error where nothing is there or it can't be read, UsageError where the size of a file's input is open and was
/// not given.
Description file_info(const FileInfoRequest& request);

}  // namespace evener::job
