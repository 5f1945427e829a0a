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

std::string images_text(const Record& record) {
  if (!record.data.images) return "";
  return std::to_string(*record.data.images) + (*record.data.images == 1 ? " image" : " images");
}

}  // namespace

const RecordKind kInferenceKind{.name = "infer",
                                .does = "answers",
                                .did = "answered",
                                .speed_label = "speed from files to answers",
                                .do_more = "give it more images",
                                .amount = images_text,
                                .metrics = [](const Record&) { return std::vector<Metric>(); }};

const RecordKind& kind_of(const Record& record) {
  for (const RecordKind* kind : {&kTrainingKind, &kInferenceKind}) {
    if (record.kind == kind->name) return *kind;
  }
  return kOtherKind;
}

}  // namespace evener::measure
