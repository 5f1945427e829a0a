// evener faces: the faces on photos, and whose they are.
#include "options/command.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "faces/faces_job.h"
#include "options/output.h"
#include "options/progress_line.h"
#include "record/record_json.h"

namespace evener::faces {
namespace {

constexpr const char* kFacesExamples = R"(Examples:
  evener faces photos/ --weights facenet
  evener faces photos/ --detector-weights weights/mtcnn --weights facenet.pt
  evener faces photos/ --detector-weights weights/mtcnn --embedder mobilefacenet --weights 068.ckpt --out runs/family
  evener faces photos/ --detector-weights weights/mtcnn --weights facenet.pt --out runs/family --resume
  evener faces photos/ --detector-weights weights/mtcnn --weights facenet.pt --out runs/family --resume --sort persons/
  evener faces photos/ --detector-weights weights/mtcnn --on cpu/t8 --min-size 40 --largest
  evener faces photos/ --detector scrfd.onnx --embedder arcface.onnx --precision bf16
  evener faces runs/family/embeddings.safetensors --neighbours 10 --limit 0.9 --out runs/again)";

int tell_faces(const FacesCommandFlags& flags) {
  ProgressLine progress(*flags.output.quiet);
  const FacesRun run = find_faces(flags, progress);
  if (!write_json(*flags.output.json, record::to_json(run.record))) {
    for (const std::string& sentence : run.summary) fmt::print("{}\n", sentence);
    fmt::print("results  {}\n", run.results.string());
  }
  if (run.was_stopped) throw Interrupted("stopped; the faces until then are kept");
  return 0;
}

}  // namespace

Command faces_command() {
  const auto flags = std::make_shared<FacesCommandFlags>();
  return {.name = "faces",
          .summary = "Find the faces on photos, embed them, and cluster them by person",
          .options = flags->options(),
          .footer = kFacesExamples,
          .measured = measured_faces,
          .complete = [flags](measure::Observer& line) { complete(*flags, &line); },
          .run = [flags] { return tell_faces(*flags); }};
}

}  // namespace evener::faces
