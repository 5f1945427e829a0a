// What reports have to know about a task: words for its runs, and the shares that its epochs may have.
#pragma once

#include <string>

#include "record/record.h"

namespace evener::record {

struct RecordKind {
  const char* name;         // Record::kind
  const char* does;         // "where resnet34 trains fastest"
  const char* did;          // "resnet34 trained 8 epochs of ...", "... trained 1.8x as fast as ..."
  const char* speed_label;  // the name of images_per_s
  const char* do_more;      // advice for a run that was too short: "train more epochs"
  /// The amount of work: "8 epochs"; "" = not shown.
  std::string (*amount)(const Record&) = [](const Record&) { return std::string(); };
};

/// The kind of a record. Unknown tasks get neutral words ("runs").
const RecordKind& kind_of(const Record& record);

/// A share in 0..1 that evaluations may have besides accuracy. Its key is the part and its name: "val_map_50" in
/// EpochRecord::figures. Each entry of kEpochFigures becomes two metrics of the record, of the best validation and of
/// the test, so that tables, pages and conclusions show it.
struct EpochFigure {
  const char* name;        // "map_50"
  const char* title;       // of its column: "mAP@.5"; "": no column
  const char* label;       // "mAP@0.5"
  bool as_epochs_end;      // shown at each epoch's end
  bool of_every_detector;  // a detector's record without it says why
};
inline constexpr EpochFigure kEpochFigures[] = {
    {"map_50", "mAP@.5", "mAP@0.5", true, true},
    {"map", "", "mAP@0.5:0.95", false, true},
};

/// Runs of `evener train`.
extern const RecordKind kTrainingKind;

}  // namespace evener::record
