// What a report has to know of the runs of one task: the words for it, and figures that stand under keys of their own.
#pragma once

#include <string>
#include <vector>

#include "record/metric.h"
#include "record/record.h"

namespace evener::record {

struct RecordKind {
  const char* name;         // Record::kind
  const char* does;         // "where resnet34 trains fastest"
  const char* did;          // "resnet34 trained 8 epochs of ...", "... trained 1.8x as fast as ..."
  const char* speed_label;  // of images_per_s
  const char* do_more;      // what to do where a run was too short: "train more epochs"
  /// How much was done: "8 epochs"; "" = not told.
  std::string (*amount)(const Record&);
  /// The figures of the kind's own keys, without images_per_s and what every run has.
  std::vector<Metric> (*metrics)(const Record&);
};

/// The kind of a record. One without an entry here "runs", and has the figures that its task gave to add_metric().
const RecordKind& kind_of(const Record& record);

/// A figure of trainings: all images over all seconds, where images_per_s is a median that leaves the warm-up out.
constexpr const char* kOverallSpeed = "images_per_s_overall";
/// A warning where that differs from images_per_s by more than a tenth, with both and the likely reason; else empty.
std::string speed_note(const Record& record);

/// A share in 0..1 that validations and tests may tell besides accuracy, under its name after that of the part:
/// "val_map_50" among the figures of an epoch. What is named here is a metric of the record, of the best validation and
/// of the test, so that tables, pages and conclusions tell it.
struct EpochFigure {
  const char* name;        // "map_50"
  const char* title;       // of a column: "mAP@.5"; "": it has none
  const char* label;       // "mAP@0.5"
  bool as_epochs_end;      // on the line of each epoch
  bool of_every_detector;  // where a detector has none, its record says why
};
inline constexpr EpochFigure kEpochFigures[] = {
    {"map_50", "mAP@.5", "mAP@0.5", true, true},
    {"map", "", "mAP@0.5:0.95", false, true},
};

/// Runs of `evener train`.
extern const RecordKind kTrainingKind;
/// Runs of `evener infer`, whose figures are all metrics of their own.
extern const RecordKind kInferenceKind;
/// Runs of `evener detect`, the same.
extern const RecordKind kDetectionKind;
/// Runs of `evener matmul`.
extern const RecordKind kMatmulKind;

}  // namespace evener::record
