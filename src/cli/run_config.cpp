#include "cli/run_config.h"

#include "measure/record.h"

namespace evener::cli {

RunConfig::RunConfig(const std::filesystem::path& run) {
  if (run.empty() || !std::filesystem::exists(run / "record.json")) return;
  config_ = measure::read_record(run).config;
}

}  // namespace evener::cli
