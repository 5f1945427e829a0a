// A trained network as an ONNX file, for other software.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/this_work.h"
#include "job/export/export_flags.h"
#include "job/observer.h"
#include "task/export.h"

namespace evener::job {

struct ExportedFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::optional<task::ExportCheck> check = {};  // how far its answers are from ours; empty: it was not run
  std::string not_checked_because = {};
};

/// Writes the file and, where OpenVINO can be used, runs it beside the network. What was written is told as soon as it
/// is. Throws UsageError, Error and Interrupted; after each there is the whole file or, where it had not been begun,
/// none. `stop`: ends it as a signal does; null: signals alone.
ExportedFile export_network(const ExportFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

}  // namespace evener::job
