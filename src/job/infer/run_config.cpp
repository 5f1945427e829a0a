#include "job/infer/run_config.h"

#include <utility>

namespace evener::job {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataPath = "data-path";

}  // namespace

RunConfig::RunConfig(const std::filesystem::path& run) : folder_(run) {
  if (run.empty() || !std::filesystem::exists(run / "record.json")) return;
  measure::Record record = measure::read_record(run);
  config_ = std::move(record.config);
  data_ = std::move(record.data);
}

std::string RunConfig::data_location() const {
  const std::string named = get<std::string>("data").value_or(""), path = get<std::string>(kDataPath).value_or("");
  std::error_code none;
  if (path.empty() || !fs::exists(path, none) || fs::equivalent(named, path, none)) return named;
  return path;
}

void add_data_path(const std::string& data, nlohmann::json& config) {
  std::error_code none;
  if (!data.empty() && fs::exists(data, none)) config[kDataPath] = fs::absolute(data).lexically_normal().string();
}

}  // namespace evener::job
