#include "record/record_kind.h"

#include <algorithm>
#include <iterator>

#include "base/plural.h"

namespace evener::record {
namespace {

/// The unit of work in a scenario; a single query may ask for many images.
std::string images_text(const Record& record) {
  const ScenarioRecord& scenario = record.scenario;
  if (scenario.queries > 1) return std::to_string(scenario.queries) + " queries";
  if (!scenario.empty()) return std::to_string(scenario.samples) + " images";
  return record.data.images ? counted(*record.data.images, "image") : "";
}

std::string photos_text(const Record& record) {
  return record.data.images ? counted(*record.data.images, "photo") : "";
}

std::string epochs_text(const Record& record) {
  return counted(record.training.epochs.size(), "epoch");
}

constexpr RecordKind kOtherKinds[] = {
    {"infer", "answers", "answered", "speed from files to answers", "give it more images", images_text},
    {"detect", "looks at images", "looked at", "speed from files to boxes", "give it more images", images_text},
    {"matmul", "multiplies matrices", "multiplied matrices", "speed of products", "give it more --repeats"},
    {"faces", "looks at photos", "looked at", "speed from photos to faces", "give it more photos", photos_text},
    {"", "runs", "ran", "speed", "let the run work on more images"}};

}  // namespace

const RecordKind kTrainingKind{
    "train", "trains", "trained", "training speed", "train more epochs, or on more images", epochs_text};

const RecordKind& kind_of(const Record& record) {
  if (record.kind == kTrainingKind.name) return kTrainingKind;
  const auto* const found = std::ranges::find(kOtherKinds, record.kind, &RecordKind::name);
  return found == std::end(kOtherKinds) ? std::end(kOtherKinds)[-1] : *found;
}

}  // namespace evener::record
