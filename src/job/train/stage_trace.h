// The last steps of a pipeline as a timeline.
#pragma once

#include <filesystem>
#include <span>

#include "parallel/pipeline.h"

namespace evener::job {

/// Writes what each rank did in the last whole steps as Chrome's trace event format (chrome://tracing,
/// ui.perfetto.dev): a process for each replica, in it a row for each stage, on which gaps are the bubble. `work`: of
/// all ranks, of so many hosts, each of which begins at 0: their clocks have nothing in common. Throws Error where the
/// file can't be written.
void write_stage_trace(const std::filesystem::path& path, std::span<const parallel::StageWork> work, int stages,
                       int hosts);

}  // namespace evener::job
