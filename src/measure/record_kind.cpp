#include "measure/record_kind.h"

namespace evener::measure {
namespace {

const RecordKind kOtherKind{.name = "",
                            .does = "runs",
                            .did = "ran",
                            .speed_label = "speed",
                            .do_more = "let the run work on more images",
                            .amount = [](const Record&) { return std::string(); },
                            .metrics = [](const Record&) { return std::vector<Metric>(); }};

}  // namespace

const RecordKind& kind_of(const Record& record) {
  return record.kind == kTrainingKind.name ? kTrainingKind : kOtherKind;
}

}  // namespace evener::measure
