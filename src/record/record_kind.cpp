#include "record/record_kind.h"

namespace evener::record {
namespace {

const RecordKind kOtherKind{.name = "",
                            .does = "runs",
                            .did = "ran",
                            .speed_label = "speed",
                            .do_more = "let the run work on more images",
                            .amount = [](const Record&) { return std::string(); },
                            .metrics = [](const Record&) { return std::vector<Metric>(); }};

/// The unit of work in a scenario; a single query may ask for many images.
std::string images_text(const Record& record) {
  const ScenarioRecord& scenario = record.scenario;
  if (scenario.queries > 1) return std::to_string(scenario.queries) + " queries";
  if (!scenario.empty()) return std::to_string(scenario.samples) + " images";
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

const RecordKind kDetectionKind{.name = "detect",
                                .does = "looks at images",
                                .did = "looked at",
                                .speed_label = "speed from files to boxes",
                                .do_more = "give it more images",
                                .amount = images_text,
                                .metrics = [](const Record&) { return std::vector<Metric>(); }};

const RecordKind kMatmulKind{.name = "matmul",
                             .does = "multiplies matrices",
                             .did = "multiplied matrices",
                             .speed_label = "speed of products",
                             .do_more = "give it more --repeats",
                             .amount = [](const Record&) { return std::string(); },
                             .metrics = [](const Record&) { return std::vector<Metric>(); }};

namespace {

const RecordKind kFacesKind{.name = "faces",
                            .does = "looks at photos",
                            .did = "looked at",
                            .speed_label = "speed from photos to faces",
                            .do_more = "give it more photos",
                            .amount =
                                [](const Record& record) {
                                  if (!record.data.images) return std::string();
                                  return std::to_string(*record.data.images) +
                                         (*record.data.images == 1 ? " photo" : " photos");
                                },
                            .metrics = [](const Record&) { return std::vector<Metric>(); }};

}  // namespace

const RecordKind& kind_of(const Record& record) {
  for (const RecordKind* kind : {&kTrainingKind, &kInferenceKind, &kDetectionKind, &kMatmulKind, &kFacesKind}) {
    if (record.kind == kind->name) return *kind;
  }
  return kOtherKind;
}

}  // namespace evener::record
