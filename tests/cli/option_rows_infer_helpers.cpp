// Rows of the commands that show images to a network.
#include "cli/option_rows_helpers.h"

namespace evener::test {
namespace {

const Words kMany = {"--on", "300xcpu/t1"};
const Words kServer = {"--scenario", "server"};

std::vector<OptionRow> shown_network() {
  const char* all = "infer|serve|quantize|calibrate";
  const char* four = "infer|serve|quantize|detect|calibrate";
  return {{four, {"MODEL", "resnet32"}, "/request/model", "resnet32"},
          {four, {"--weights", "there.pt"}, "/request/weights", "there.pt"},
          {four, {"--labels", "names.txt"}, "/request/labels", "names.txt"},
          {all, {"--classes", "7"}, "/request/classes", 7},
          {four, {"--size", "20x10"}, "/request/width", 20},
          {four, {"--size", "20x10"}, "/request/height", 10},
          {all, {"--channels", "3"}, "/request/channels", 3},
          {four, {"--normalize", "imagenet"}, "/request/normalize", "imagenet"},
          {four, {"--normalize", "0.5/0.25"}, "/request/mean", {0.5}},
          {all, {"--crop", "stretch"}, "/seen/crop", 0},
          {four, {"--crop", "letterbox"}, "/seen/crop", 1},
          {all, {"--crop", "centre"}, "/seen/keeps_fitting", false},
          {all, {"--crop-fraction", "0.5"}, "/seen/crop_fraction", 0.5},
          {four, {"--interpolation", "lanczos"}, "/seen/filter", 3},
          {four, {"--layout", "nhwc"}, "/request/layout", 1},
          {four, {"--layout", "nchw"}, "/request/layout", 0},
          {four, {"--channel-order", "bgr"}, "/request/bgr", true},
          {"infer|serve|quantize|detect", {"--decoder", "yola"}, "/error", "~unknown decoder 'yola'"},
          {"infer|serve", {"--decoder", "yolox"}, "test:KnownEverywhere.AForeignDetector"},
          {all, {"--output-name", "scores"}, "/request/output", "scores"},
          {"infer|serve", {"--uncalibrated", "true"}, "/request/calibrated", false}};
}

std::vector<OptionRow> where_computed() {
  const char* all = "infer|serve|quantize|detect|calibrate";
  return {{all, {"--on", "2xcpu/t1"}, "/infer/plan/text", "2xcpu/t1"},
          {all, {"--oversubscribe", "true"}, "/infer/plan/replicas", 300, kMany},
          {all, {"--precision", "bf16"}, "/infer/precision", "bf16"},
          {all, {"--engine", "torch"}, "/infer/engine", "torch"},
          {all, {"--batch", "3"}, "/infer/batch", 3},
          {all, {"--streams", "2"}, "/infer/streams", 2},
          {all, {"--cut", "fc2"}, "/infer/cut", {"fc2"}, {"--on", "cpu/t1..cpu/t1"}},
          {all, {"--memory", "1.5"}, "/infer/stage_memory_bytes", 1'500'000},
          {all, {"--reading-threads", "3"}, "/infer/reading_threads", 3}};
}

std::vector<OptionRow> what_is_shown() {
  const char* infer = "infer";
  return {{infer, {"IMAGES", "random:3"}, "/run/record/data/images", 3},
          {infer, {"--part", "train"}, "/run/record/data/images", 60, {"--split", "60/30/10"}},
          {infer, {"--part", "validation"}, "/run/record/data/images", 30, {"--split", "60/30/10"}},
          {infer, {"--split", "50/30/20"}, "/run/record/data/images", 20, {"--part", "test"}},
          {infer, {"--seed", "7"}, "/request/seed", 7},
          {infer, {"--seed", "7"}, "/run/predictions"},  // other images are the test part
          {infer, {"--strict", "true"}, "/infer/strict", true},
          {infer, {"--random", "true"}, "/run/exit", 0, {"MODEL", "resnet20", "IMAGES", "{}/blank.pgm"}}};
}

std::vector<OptionRow> answers() {
  const char* infer = "infer";
  const Words csv = {"--format", "csv"};
  return {{infer, {"--topk", "2"}, "/run/prediction_rows", 20},
          {infer, {"--confidence", "1"}, "/run/out", nullptr, csv},
          {infer, {"--output-type", "logit"}, "/request/output_type", 2},
          {infer, {"--output-type", "prob"}, "/request/output_type", 1},
          {infer, {"--output-type", "logit"}, "/run/predictions"},
          {infer, {"--outputs", "raw"}, "/run/files", "~out/files.txt"},
          {infer, {"--format", "jsonl"}, "/run/out", "~{\"file\""},
          {infer, {"--features", "{}/f.safetensors"}, "/run/files", "~f.safetensors"},
          {infer, {"--features", "{}/f.safetensors"}, "/request/features", true},
          {infer, {"--sort", "sorted"}, "test:InferSort.PutsLinksIntoAFolderOfEachClassAndKeepsWhatPeoplePutRight"},
          {infer, {"--sort-by", "copy"}, "test:InferSort.CopiesWhereAskedAndPutsUnsurePhotosAside"},
          {infer, {"--confidence", "1"}, "test:InferSort.CopiesWhereAskedAndPutsUnsurePhotosAside"},
          {infer, {"--watch", "true"}, "test:InferSort.WatchGoesOnWithPhotosThatCome"},
          {infer, {"--watch", "true"}, "/error", "~has no end for a record", {"--out", "there"}},
          {infer, {"--out", "there"}, "/around/out", "there"},
          {infer, {"--overwrite", "true"}, "/around/overwrite", true},
          {infer, {"--json", "r.json"}, "/around/json", "r.json"},
          {infer, {"--json", "-"}, "/run/out", "~\"kind\": \"infer\""},
          {infer, {"--quiet", "true"}, "/run/err", ""}};
}

std::vector<OptionRow> scenarios() {
  const char* infer = "infer";
  return {{infer, {"--scenario", "offline"}, "/scenario/scenario", 3},
          {infer, {"--scenario", "server"}, "/scenario/scenario", 2},
          {infer, {"--quick", "true"}, "/error", "~exclude each other", {"--scenario", "server", "--full", "true"}},
          {infer, {"--full", "true"}, "/scenario/min_duration_s", 600.0, kServer},
          {infer, {"--latency-limit", "50"}, "/scenario/latency_limit_s", 0.05, kServer},
          {infer, {"--target-rate", "12.5"}, "/scenario/target_rate", 12.5, kServer},
          {infer, {"--samples-per-query", "3"}, "/scenario/samples_per_query", 3, {"--scenario", "multi-stream"}},
          {infer, {"--percentile", "95%"}, "/scenario/percentile", 0.95, kServer},
          {infer, {"--min-duration", "2.5"}, "/scenario/min_duration_s", 2.5, kServer},
          {infer, {"--scenario-seeds", "9,8,7,6"}, "/scenario/seeds", {9, 8, 7, 6}, kServer},
          {infer, {"--seconds", "0.01"}, "/run/metrics", "~network_images_per_s"},
          {infer, {"--profile", "layers"}, "test:Profile.OfInferenceIsThatOfTheEngine"},
          {infer, {"--trace", "t.json"}, "/around/trace", "t.json"},
          {infer, {"--sample-interval", "125"}, "/around/sample_interval_ms", 125}};
}

std::vector<OptionRow> videos() {
  const char* all = "infer|detect|faces";
  return {{all, {"--every", "often"}, "/error", "~give a number of frames"},
          {all, {"--every", "4"}, "test:VideosCommand.FramesAreAnsweredAsThePicturesThatTheyAre"},
          {all, {"--frames", "3"}, "test:VideosCommand.FramesAreAnsweredAsThePicturesThatTheyAre"}};
}

std::vector<OptionRow> energy() {
  const char* all = "infer|quantize|detect|faces";
  return {{all, {"--idle", "1.5"}, "/around/idle_s", 1.5},
          {all, {"--meter", "run:cat f#power=W"}, "/around/meters", {"run:cat f#power=W"}},
          {all, {"--assume-power", "cpu=65W,idle=20W,gpu=150W"}, "/around/assumed", {65.0, 20.0, 150.0, nullptr}}};
}

std::vector<OptionRow> serving() {
  const char* serve = "serve";
  return {{serve, {"--host", "::1"}, "/http/host", "::1"},
          {serve, {"--port", "9000"}, "/http/port", 9000},
          {"serve|detect", {"--confidence", "0.75"}, "/boxes/confidence", 0.75},
          {"serve|detect", {"--iou", "0.25"}, "/boxes/iou", 0.25},
          {"serve|detect", {"--max-boxes", "17"}, "/boxes/most", 17},
          {"serve|detect", {"--only", "dog,0"}, "/boxes/labels", {1, 0}},
          {serve, {"--name", "mine"}, "test:ServeCommand.TellsAnAddressThatCanBeAsked"},
          {serve, {"--max-wait", "25"}, "/queue/max_wait_s", 0.025},
          {serve, {"--queue", "77"}, "/queue/capacity", 77},
          {serve, {"--input-type", "fp32"}, "/takes_bytes_of_images", false},
          {serve, {"--input-type", "uint8"}, "/takes_bytes_of_vectors", true},
          {serve, {"--max-request", "3"}, "/http/body_bytes", 3'000'000},
          {serve, {"--request-timeout", "2.5"}, "/http/transfer_s", 2.5},
          {serve, {"--connections", "9"}, "/http/connections", 9},
          {serve, {"--random", "true"}, "test:ServeCommand.RefusesWhatItCantServe"},
          {serve, {"--assume-power", "cpu=50W"}, "test:ServeCommand.TellsTheEnergyOfASample"},
          {serve, {"--idle", "0.2"}, "test:ServeCommand.TellsTheEnergyOfASample"},
          {serve, {"--meter", "run:cat f#power=W"}, "/energy/meters", {"run:cat f#power=W"}},
          {serve, {"--quiet", "true"}, "test:ServeCommand.QuietSaysItsAddressAlone"}};
}

std::vector<OptionRow> calibrating() {
  const char* calibrate = "calibrate";
  return {{calibrate, {"--data", "synth:digits:50"}, "/data", "synth:digits:50"},
          {calibrate, {"--split", "50/20/30"}, "/split", "50/20/30"},
          {calibrate, {"--seed", "7"}, "/seed", 7},
          {calibrate, {"--images", "45"}, "/images", 45},
          {calibrate, {"--images", "3"}, "test:Calibrate.RefusesWhatCantBeCalibrated"},
          {calibrate, {"--unknown", "0.125"}, "/unknown", 0.125},
          {calibrate, {"--unlike", "there"}, "test:Calibrate.TheCommandFindsWhatTheTrainingFound"},
          {calibrate, {"--json", "-"}, "test:Calibrate.TheCommandFindsWhatTheTrainingFound"},
          {calibrate, {"--quiet", "true"}, "test:Calibrate.TheCommandFindsWhatTheTrainingFound"}};
}

std::vector<OptionRow> quantizing() {
  const char* quantize = "quantize";
  const Words digits = {"--data", "synth:digits:100"};
  return {{quantize, {"--data", "synth:digits:50"}, "/data", "synth:digits:50"},
          {quantize, {"--calibration-data", "synth:digits:30"}, "/calibrating", 30, digits},
          {quantize, {"--calibration-data", "synth:digits:30"}, "/evaluated", 100, digits},
          {quantize, {"--images", "45"}, "/images", 45},
          {quantize, {"--split", "50/20/30"}, "/calibrating", 50, digits},
          {quantize, {"--split", "50/20/30"}, "/evaluated", 30, digits},
          {quantize, {"--seed", "7"}, "/names", nullptr, digits},
          {quantize, {"--calibration", "entropy"}, "/calibration", 2},
          {quantize, {"--percentile", "97.5%"}, "/percentile", 97.5},
          {quantize, {"--weight-bits", "5"}, "/weight_bits", 5},
          {quantize, {"--keep", "first"}, "test:QuantizeCommand.ARunBecomesAFileThatOtherCommandsTake"},
          {quantize, {"--accuracy-drop", "2.5%"}, "/most_lost", 0.025},
          {quantize, {"--decoder", "rows"}, "test:DetectFiles.WhatIsQuantisedIsReadAsItsDecoderSays"},
          {quantize, {"--no-bias-correction", "true"}, "/bias_correction", false},
          {quantize, {"--out", "there"}, "/around/out", "there"},
          {quantize, {"--overwrite", "true"}, "/around/overwrite", true},
          {quantize, {"--seconds", "0.25"}, "/seconds", 0.25},
          {quantize, {"--json", "r.json"}, "/around/json", "r.json"},
          {quantize, {"--quiet", "true"}, "test:QuantizeCommand.TheExportedFileSaysTheSame"}};
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

std::vector<OptionRow> finding_faces() {
  const char* faces = "faces";
  const Words file = {"--embedder", "there.onnx"};
  return {{faces, {"DIR", "photos"}, "test:FacesRun.ARunLeavesItsFilesBehind"},
          {faces, {"--pairs", "p.txt"}, "test:FacesRun.PairsAreJudged"},
          {faces, {"--strict", "true"}, "/strict", true},
          {faces, {"--detector", "there.onnx"}, "test:FacesDetectorFile.FindsFacesOnPhotosOfAllSizes"},
          {faces, {"--detector-weights", "there"}, "/detector_weights", "there"},
          {faces, {"--detector-size", "64x32"}, "test:FacesDetectorFile.OptionsOfOneDetectorAreNotOfTheOther"},
          {faces, {"--embedder", "mobilefacenet"}, "/embedder", "mobilefacenet"},
          {faces, {"--weights", "w.pt"}, "/weights", "w.pt"},
          {faces, {"--size", "20x10"}, "/file/width", 20, file},
          {faces, {"--size", "20x10"}, "/file/height", 10, file},
          {faces, {"--normalize", "imagenet"}, "/file/normalize", "imagenet", file},
          {faces, {"--channel-order", "bgr"}, "/file/bgr", true, file},
          {faces, {"--cut", "upright"}, "/cut", 1},
          {faces, {"--min-size", "33"}, "/min_size", 33},
          {faces, {"--confidence", "0.5,0.25,0.75"}, "/thresholds", {0.5, 0.25, 0.75}},
          {faces, {"--factor", "0.5"}, "/factor", 0.5},
          {faces, {"--margin", "14"}, "/margin", 14.0},
          {faces, {"--largest", "true"}, "/all", false},
          {faces, {"--rotate", "auto"}, "/turn", true},
          {faces, {"--limit", "0.75"}, "/limit", 0.75},
          {faces, {"--founder-size", "100"}, "test:FacesRun.TheLargestFaceAloneAndLimitsOfLikeness"},
          {faces, {"--neighbours", "4"}, "/neighbours", 4},
          {faces, {"--on", "2xcpu/t1"}, "/plan/text", "2xcpu/t1"},
          {faces, {"--precision", "bf16"}, "/precision", "bf16"},
          {faces, {"--memory", "600MB"}, "/memory_bytes", 600'000'000},
          {faces, {"--memory", "1.5GB"}, "/memory_bytes", 1'500'000'000},
          {faces, {"--out", "there"}, "/around/out", "there"},
          {faces, {"--resume", "true"}, "/around/overwrite", true},
          {faces, {"--overwrite", "true"}, "/around/overwrite", true},
          {faces, {"--chunk", "7"}, "/chunk", 7},
          {faces, {"--sort", "sorted"}, "test:FacesNamed.SortsPhotosByPersonAndAgain"},
          {faces, {"--json", "r.json"}, "/around/json", "r.json"},
          {faces, {"--quiet", "true"}, "test:FacesRun.PhotosWithoutFacesAreNoError"}};
}

}  // namespace

std::vector<OptionRow> option_rows_of_inference() {
  std::vector<OptionRow> rows;
  for (auto part : {shown_network, where_computed, what_is_shown, videos, answers, scenarios, energy, serving,
                    calibrating, quantizing, detecting, finding_faces}) {
    const std::vector<OptionRow> more = part();
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace evener::test
