// Writes the raw outputs of a network for each image into NumPy's files, for networks whose outputs are no classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "job/inference/session.h"
#include "task/inference/infer.h"

namespace evener::job {

/// Writes OUTPUT.npy for each output, float32 (images, ...), as predictions come, and files.txt with the image of each
/// row.
class RawOutputs {
 public:
  /// Throws Error where a file can't be written.
  RawOutputs(std::filesystem::path folder, OutputShapes shapes);

  void add(const std::string& image, const task::Prediction& prediction);
  /// Throws Error where something could not be written.
  void finish();

 private:
  struct File {
    std::filesystem::path path;
    std::ofstream stream;
  };

  const std::filesystem::path folder_;
  const OutputShapes shapes_;
  std::map<std::string, File> files_;
  std::ofstream names_;
  std::int64_t images_ = 0;
};

}  // namespace evener::job
