#include "job/inference/run_config.h"

#include <utility>

#include "data/locations.h"

namespace evener::job {
namespace {

constexpr const char* kDataPath = "data-path";

}  // namespace

RunConfig::RunConfig(const std::filesystem::path& run) : folder_(run) {
  if (run.empty() || !std::filesystem::exists(run / "record.json")) return;
  record::Record record = record::read_record(run);
  config_ = std::move(record.config);
  data_ = std::move(record.data);
}

std::string RunConfig::data_location() const {
  const std::string named = get<std::string>("data").value_or(""), path = get<std::string>(kDataPath).value_or("");
  if (path.empty() || !data::are_on_disk(path) || data::are_same_locations(named, path)) return named;
  return path;
}

void add_data_path(const std::string& data, nlohmann::json& config) {
  if (!data.empty() && data::are_on_disk(data)) config[kDataPath] = data::absolute_locations(data);
}

}  // namespace evener::job
