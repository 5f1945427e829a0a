// The messages of commands that may look at a camera.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/progress.h"

namespace evener::cli {

/// For a command that was given `words` to look at: where one is a camera or a pipe each answer is flushed at once, as
/// whoever reads them waits for it. `quiet`: see ProgressLine.
std::unique_ptr<ProgressLine> progress_for(const std::vector<std::string>& words, bool quiet);

}  // namespace evener::cli
