// Quantises a network in another program's file as it stands: whatever its operations are, it stays what it is, and
// the inputs of its convolutions and matrix products get 8 bits.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/model_file.h"
#include "engine/runner.h"

namespace evener::engine {

/// The least and the greatest of some values.
struct ValueExtent {
  float least = 0, most = 0;
};

struct FileQuantization {
  std::map<std::string, ValueExtent> extents;     // of values, by the names that a range runner gives them
  int weight_bits = 8;                            // 4 to 8
  std::vector<std::string> kept = {};             // layers that stay in float
  std::map<std::string, std::string> facts = {};  // metadata that is added to the file's own
};

/// What a ModelFile may be, too.
class QuantizableFile {
 public:
  virtual ~QuantizableFile() = default;

  /// The layers that can be quantised, by name, in the order of computation.
  virtual std::vector<std::string> quantizable_layers() const = 0;
  /// A runner of single images whose outputs are the values that such layers read: each (1, 2), the least and the most.
  virtual std::unique_ptr<Runner> make_range_runner(const ModelInput& input, const RunnerOptions& options) const = 0;
  /// Writes the quantised network as `xml`, with its weights beside it (.bin). Throws Error.
  virtual void write_quantized(const FileQuantization& how, const std::filesystem::path& xml) const = 0;
};

}  // namespace evener::engine
