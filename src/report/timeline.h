// When each stage of a pipeline computed what, in the last steps of a training: a run's stages.trace.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evener::report {

/// A file of a run's folder, in Chrome's trace event format.
inline constexpr const char* kTimeline = "stages.trace.json";

/// A micro-batch that passed a stage.
struct StageTask {
  int replica = 0, stage = 0, step = 0, micro_batch = 0;
  std::string way;              // "forward", "backward" or "weights"
  double from_s = 0, to_s = 0;  // the first of all tasks begins at 0
};

/// By replica and stage, and in the order of time: of the last steps that follow one another without a longer break
/// than a step (a validation in between). Throws Error for a file that isn't one.
std::vector<StageTask> read_timeline(const std::filesystem::path& path);

}  // namespace evener::report
