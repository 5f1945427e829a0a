#include "run/placement_record.h"

#include <algorithm>
#include <utility>

namespace evener::run {

record::PlacementRecord placement_record(const placement::Plan& plan) {
  record::PlacementRecord record{plan.text, {}};
  for (const auto& replica : plan.replicas) {
    record::ReplicaRecord entry;
    for (const auto& stage : replica.stages) {
      record::StageRecord stage_record;
      stage_record.device = device_text(stage.device);
      stage_record.uuid = stage.uuid;
      if (stage.device.kind == DeviceKind::kCpu) stage_record.threads = stage.threads;
      stage_record.cpus = stage.cpus;
      if (stage.factor < 1) stage_record.emulated_speed = stage.factor;
      entry.stages.push_back(std::move(stage_record));
    }
    entry.share = replica.share;
    record.replicas.push_back(std::move(entry));
  }
  return record;
}

void limit_threads(record::PlacementRecord& placement, int most) {
  for (record::ReplicaRecord& replica : placement.replicas) {
    for (record::StageRecord& stage : replica.stages) {
      if (stage.threads) stage.threads = std::min(*stage.threads, most);
    }
  }
}

void add_precision_fallbacks(record::Record& record, const placement::Plan& plan, Precision precision) {
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) {
      std::string fallback = precision_fallback(precision, stage.device.kind);
      if (fallback.empty() || std::ranges::find(record.fallbacks, fallback) != record.fallbacks.end()) continue;
      record.fallbacks.push_back(std::move(fallback));
    }
  }
}

}  // namespace evener::run
