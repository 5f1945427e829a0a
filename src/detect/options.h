// The options of `evener detect`.
#pragma once

#include "data/locations.h"
#include "detect/decoders/detection.h"
#include "infer/model/inference_model.h"
#include "infer/session/options.h"
#include "options/measured_command.h"
#include "options/option.h"
#include "options/run_flags.h"

namespace evener::detection {

/// Options about the network, which has to be a detector.
struct DetectModelFlags : inference::TrainedModelFlags {
  DetectModelFlags();

  /// Throws UsageError.
  inference::InferenceRequest request() const;
};

/// Options about the photos.
struct DetectImagesFlags : inference::PartFlags {
  Option<std::vector<std::string>> images{
      *this, "IMAGES WHAT",
      "Photos: files, folders, patterns, lists (.txt), or - for a list on stdin; videos, a camera (/dev/video0)"};
  Option<std::string> data{*this, "--data DATA", OptionRules{.joint = data::kLocationJoint},
                           "Images whose boxes are known, to see how well it finds them: VOC, COCO, YOLO, synth:shapes "
                           "(default without IMAGES: what the run's own data has to test on)"};

 private:
  void check_together() const override;
};

/// Options about the boxes that are told.
struct DetectBoxesFlags : OptionGroup {
  DetectBoxesFlags() : OptionGroup("Boxes") {}

  Option<std::optional<double>> confidence{
      *this, "--confidence P", within(from_to(0, 1)).called({"--conf", "--conf-thres", "--threshold"}),
      "Boxes that are less likely are neither told nor drawn (default: 0.3); mAP counts all in any case"};
  Option<std::optional<double>> iou{*this, "--iou SHARE", within(from_to(0, 1)),
                                    "Non-maximum suppression (NMS): boxes of one class with more of their union in "
                                    "common are one object (default: 0.55, or what is usual for a file's family)"};
  Option<int> max_boxes{*this, "--max-boxes N", 300, within(from_to(1, 100000)), "On an image: the likeliest"};
  Option<std::string> only{*this, "--only NAMES", rules().with_commas().joined_by(",").called({"--classes"}),
                           "Only these: names or numbers from 0, as in cat,dog"};

  /// `labelled`: the boxes are known. `names`: of the network's classes. `usual`: as its family does it
  /// (usual_decoding). Throws UsageError.
  DecodeOptions options(bool labelled, const std::vector<std::string>& names, const DecodeOptions& usual) const;
  /// The least score of boxes that are told, drawn and written as labels: --confidence or its default, also where the
  /// boxes are known and options() lets boxes of almost any score pass, for mAP.
  float least_to_tell() const;
};

/// Options about the output.
struct DetectOutputFlags : OutputFlags {
  DetectOutputFlags()
      : OutputFlags("Folder for detections.csv and the record (default: none)",
                    "Write the record there; - is stdout, instead of boxes") {}

  Option<std::string> format{*this, "--format NAME",
                             one_of({"", "table", "csv", "jsonl", "coco", "voc", "yolo", "none"}),
                             "On stdout table, csv, jsonl, coco or none (default: table; of data with boxes a "
                             "summary); voc or yolo: a file for each photo in the folder of --out"};
  Option<bool> save{*this, "--save", "Write the photos with boxes drawn to the folder of --out"};
  Option<std::string> crops{*this, "--crops DIR", "Write what was found, cut out, to a folder per class"};

 private:
  void check_together() const override;
};

struct DetectFlags {
  DetectModelFlags model;
  DetectImagesFlags images;
  VideoFlags videos;
  inference::InferPlacementFlags placement;
  DetectBoxesFlags boxes;
  DetectOutputFlags output;
  ProfileFlags profiling;
  EnergyFlags energy;

  OptionSet options() { return {&model, &images, &videos, &placement, &boxes, &profiling, &output, &energy}; }
  std::vector<const OptionGroup*> groups() const { return {&model, &images, &videos, &placement, &boxes, &output}; }
};

/// Sets --weights to the file that a name or a run stands for (take_weights()).
void complete(DetectFlags& flags, measure::Observer* observer);

/// `evener detect` as a sweep runs it.
MeasuredCommand measured_detect();

}  // namespace evener::detection
