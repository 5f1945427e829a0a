#include "job/options/output_flags.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace evener::job {

TrainOutputFlags::TrainOutputFlags() : OptionGroup("Output") {
  resume.record_as([this](nlohmann::json& value) { value = resumes(); });
}

void TrainOutputFlags::check_together() const {
  if (!resumes()) return;
  if (out->empty()) throw UsageError("--resume needs the folder of the run to go on with: --resume RUN_DIR");
  if (*overwrite) {
    throw UsageError("--resume goes on with the run in the folder, and --overwrite replaces it: give one of them");
  }
  const std::string& run = **resume;
  std::error_code none;
  if (!run.empty() && run != *out && !std::filesystem::equivalent(run, *out, none)) {
    throw UsageError("--resume " + run + " goes on in that folder, and --out names another one (" + *out +
                     "). Leave --out out; to keep the run as it is, copy its folder first and resume the copy");
  }
}

}  // namespace evener::job
