// Rows of detectors, and of the boxes that a server tells.
#include "app/option_rows_helpers.h"

#include "base/test_folder.h"
#include "detect/detector.h"
#include "detect/option_rows_helpers.h"
#include "infer/option_rows_helpers.h"

namespace evener::test {
namespace {

using nlohmann::json;

std::vector<OptionRow> boxes() {
  return {{"serve|detect", {"--confidence", "0.75"}, "/boxes/confidence", 0.75},
          {"serve|detect", {"--iou", "0.25"}, "/boxes/iou", 0.25},
          {"serve|detect", {"--max-boxes", "17"}, "/boxes/most", 17},
          {"serve|detect", {"--only", "dog,0"}, "/boxes/labels", {1, 0}}};
}

std::vector<OptionRow> detecting() {
  const char* detect = "detect";
  const Words shapes = {"--data", "synth:shapes:20"};
  const Words divided = {"--data", "synth:shapes:20", "--split", "50/20/30"};
  return {{detect, {"--crop", "yolox"}, "/seen/crop", 4},
          {detect, {"--decoder", "yolox"}, "test:DetectFiles.WhatWasUnderstoodIsToldAndOverruled"},
          {detect, {"IMAGES", "a.jpg"}, "/error", "~give one of them", {"--data", "d"}},
          {detect, {"IMAGES", "photos"}, "test:Detect.EveryFormatTellsTheSameBoxes"},
          {detect, {"--data", "synth:shapes:30"}, "/shown", 30, {"--part", "all"}},
          {detect, {"--part", "all"}, "/shown", 20, divided},
          {detect, {"--split", "50/20/30"}, "/shown", 6, shapes},
          {detect, {"--split", "70/30"}, "/error", "~are for data with boxes", {"IMAGES", "a.jpg"}},
          {detect, {"--seed", "7"}, "/names", nullptr, divided},
          {detect, {"--strict", "true"}, "/infer/strict", true},
          {detect, {"--confidence", "0"}, "/confidence_where_known", 0.0},
          {detect, {"--profile", "layers"}, "test:Profile.OfInferenceIsThatOfTheEngine"},
          {detect, {"--format", "coco"}, "test:Detect.EveryFormatTellsTheSameBoxes"},
          {detect, {"--format", "voc"}, "/error", "~give it a folder with --out"},
          {detect, {"--save", "true"}, "test:Detect.WritesFilesForEachPhoto"},
          {detect, {"--crops", "c"}, "test:Detect.CropsOfSimilarNamesLieInFoldersOfTheirOwn"},
          {detect, {"--out", "there"}, "/around/out", "there"},
          {detect, {"--overwrite", "true"}, "/around/overwrite", true},
          {detect, {"--json", "r.json"}, "/around/json", "r.json"},
          {detect, {"--quiet", "true"}, "test:Detect.EveryFormatTellsTheSameBoxes"}};
}

json handed_to_detection(const Words& given) {
  detection::DetectFlags flags;
  give_all(flags.options(), given);
  const placement::Plan plan = flags.placement.plan();
  json told = {{"request", request_json(flags.model.request())},
               {"seen", seen_json(flags.model)},
               {"infer", infer_json(infer_options(flags, plan, flags.placement.precision_on(plan),
                                                  threads_of(flags.placement)))},
               {"boxes", boxes_json(flags.boxes)},
               {"confidence_where_known", flags.boxes.options(true, {"cat", "dog", "cow"}, {}).confidence},
               {"around", around_json(run_options(flags, plan, "w.pt"))}};
  if (flags.images.data->empty()) return told;
  static const inference::InferenceModel detector([] {
    inference::InferenceRequest request;
    request.model = {.model = "ssdlite_mobilenet_v2", .width = 64, .height = 64, .classes = 3};
    request.labels = [] {
      static const TestFolder folder;
      write_text(folder / "names.txt", "circle\nsquare\ntriangle\n");
      return folder / "names.txt";
    }();
    return request;
  }());
  const detection::DetectImages images =
      detection::open_photos(flags, detector, detection::detector_classes(detector), 1);
  told["shown"] = images.shown.samples->size();
  for (std::size_t i = 0; i < images.shown.samples->size(); ++i) {
    told["names"].push_back(images.shown.samples->name(i));
  }
  return told;
}

const bool kDetectIsAdded =
    add_to_option_table({{"detect", {"MODEL", "resnet20"}, {}, handed_to_detection}}, {boxes(), detecting()});

}  // namespace
}  // namespace evener::test
