// The timeline of a pipeline's stages in the last steps of a training, from a run's stages.trace.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evener::report {

/// The file in a run's folder, in Chrome's trace event format.
inline constexpr const char* kTimeline = "stages.trace.json";

/// A pass of a micro-batch through a stage.
struct StageTask {
  int replica = 0, stage = 0, step = 0, micro_batch = 0;
  std::string way;              // "forward", "backward" or "weights"
  double from_s = 0, to_s = 0;  // the first of all tasks begins at 0
};

/// Reads the tasks, sorted by replica, stage and time. Keeps only the last steps without a break longer than a step
/// (such as a validation) between them. Throws Error if the file has another format.
std::vector<StageTask> read_timeline(const std::filesystem::path& path);

}  // namespace evener::report
