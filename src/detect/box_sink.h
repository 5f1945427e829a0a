// Takes the predictions of `evener detect`: tells the boxes found on each photo, and judges them where the boxes are
// known.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/csv.h"
#include "detect/decoders/boxes.h"
#include "detect/detector.h"
#include "detect/judge/average_precision.h"
#include "detect/judge/judge.h"
#include "detect/options.h"
#include "infer/run/infer.h"
#include "infer/session/session.h"
#include "measure/run/observer.h"
#include "record/detection.h"
#include "record/record.h"

namespace evener::detection {

/// A photo with all that was found on it.
struct LookedAt {
  std::size_t index = 0;
  FoundBoxes found;
  std::vector<TrueBox> truth;
  MatchedBoxes matched;  // of the boxes with a score of at least mistake_confidence()
};

class BoxSink : public inference::PredictionSink {
 public:
  /// Tells `observer` the boxes, in the format of `flags`. `labelled`: the boxes are known. `folder`: for
  /// detections.csv; empty = it isn't written. Throws Error where a file can't be written.
  BoxSink(const DetectFlags& flags, const Detector& detector, const Photos& photos, bool labelled,
          const std::filesystem::path& folder, measure::Observer& observer);

  void take(const inference::Prediction& prediction) override;
  bool tells_each() const override { return format_ == "table" || format_ == "csv" || format_ == "jsonl"; }
  void finish() override;
  std::string found_text() const override;

  /// Boxes with a lower score are not told, drawn or cut out. Where boxes are known, the network gives boxes of almost
  /// any score, as mAP needs them.
  float shown_confidence() const { return shown_confidence_; }
  /// Boxes with a lower score are ignored when mistakes are counted: they are neither false positives nor find an
  /// object.
  float mistake_confidence() const { return mistake_confidence_; }
  const std::vector<LookedAt>& photos() const { return looked_at_; }
  const DetectionTally& tally() const { return tally_; }
  const BoxConfusion& confusion() const { return confusion_; }
  /// The numbers of boxes that were told, and of those that only mAP is measured with.
  std::size_t boxes() const { return boxes_; }
  std::size_t boxes_left_out() const { return boxes_left_out_; }
  std::size_t without_boxes() const { return without_boxes_; }

 private:
  void tell(const FoundBoxes& told);

  const Detector& detector_;
  const Photos& all_;
  measure::Observer& observer_;
  const bool labelled_;
  const float shown_confidence_;
  const float mistake_confidence_;
  const float coco_confidence_;  // for COCO's files, by which other programs measure mAP
  std::string format_;
  std::optional<CsvWriter> csv_;
  std::vector<LookedAt> looked_at_;
  DetectionTally tally_;
  BoxConfusion confusion_;
  std::size_t boxes_ = 0, boxes_left_out_ = 0, without_boxes_ = 0;
};

// Writes the results of a detection into its record and its tables.

/// Adds metrics to the record: how many boxes were found and, with `quality`, how well.
void fill_detection(record::Record& record, const BoxSink& writer, const DetectionQuality* quality);

/// "mAP@0.5 71.2 % (VOC 2007: 69.0 %), COCO 41.0 %" and so on, a line each, for people.
std::string quality_text(const DetectionQuality& quality, const std::vector<std::string>& classes);

/// Writes all figures as class,metric,value; absent figures have no value.
void write_metrics(const std::filesystem::path& path, const DetectionQuality& quality,
                   const std::vector<std::string>& classes);

/// The figures for the page, still without the photos of misses.
record::DetectionFigures detection_figures(const BoxSink& writer, const DetectionQuality& quality,
                                           const std::vector<std::string>& classes);

}  // namespace evener::detection
