// Rows of faces.
#include "app/option_rows_helpers.h"

#include "faces/comparison.h"
#include "faces/faces_job.h"
#include "infer/option_rows_helpers.h"

namespace evener::test {
namespace {

using nlohmann::json;

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

json handed_to_faces(const Words& given) {
  faces::FacesCommandFlags flags;
  give_all(flags.options(), given);
  const faces::FacesOptions options = faces::faces_options(flags);
  const faces::ComparisonRequest compared = faces::comparison_request(flags.comparison);
  const faces::FaceDetectorFileOptions& file = options.detector.file;
  return {{"detector", options.detector.name},
          {"detector_weights", options.detector.weights.string()},
          {"detector_size", file.size ? json({file.size->width, file.size->height}) : json()},
          {"embedder", options.embedder.name},
          {"weights", options.embedder.weights.string()},
          {"file", request_json(options.embedder.file)},
          {"cut", options.embedder.cut ? json(static_cast<int>(*options.embedder.cut)) : json()},
          {"min_size", options.detector.mtcnn.min_size},
          {"thresholds", options.detector.mtcnn.thresholds},
          {"factor", options.detector.mtcnn.factor},
          {"margin", options.margin},
          {"all", options.all},
          {"turn", options.turn},
          {"strict", options.strict},
          {"chunk", options.chunk},
          {"memory_bytes", options.memory_bytes},
          {"plan", plan_json(options.plan)},
          {"precision", precision_name(options.precision)},
          {"limit", compared.limit},
          {"neighbours", value_or_null(compared.neighbours)},
          {"around", around_json(run_options(flags, options.plan, *flags.output.resume))}};
}

const bool kFacesIsAdded = add_to_option_table(
    {{"faces", {"DIR", "photos", "--detector-weights", "weights"}, {}, handed_to_faces}}, {finding_faces()});

}  // namespace
}  // namespace evener::test
