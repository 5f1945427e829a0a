#include "cli/live_progress.h"

#include <algorithm>

#include "data/video/video_files.h"

namespace evener::cli {

std::unique_ptr<ProgressLine> progress_for(const std::vector<std::string>& words, bool quiet) {
  if (std::ranges::any_of(words, data::is_live_source)) return std::make_unique<PromptLine>(quiet);
  return std::make_unique<ProgressLine>(quiet);
}

}  // namespace evener::cli
