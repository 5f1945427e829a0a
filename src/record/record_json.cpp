#include "record/record_json.h"

#include "record/described_json.h"
#include "record/record_fields.h"

namespace evener::record {
namespace {

/// Refuses a file in which two figures have the same name: one would be shown under the other's heading.
void require_own_names(const Record& record, const JsonReader& json) {
  Record without = record;
  without.metrics.clear();
  const std::vector<Metric> others = metrics_of(without);
  for (const auto& [name, metric] : record.metrics) {
    if (find_metric(others, name) != nullptr) {
      json.object("metrics").fail(name.c_str(), "expected a name that no other figure of a record has");
    }
  }
}

}  // namespace

nlohmann::ordered_json to_json(const Record& record) {
  return described_json(record);
}

Record from_json(const nlohmann::json& file, const std::string& source) {
  const JsonReader json(file, source);
  Record record;
  read_described(file, source, record);
  require_own_names(record, json);
  return record;
}

}  // namespace evener::record
