// evener detect and faces: what is on photos, and how well that is known.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "job/detect/box_sink.h"
#include "job/detect/detection.h"
#include "job/detect/pictures.h"
#include "job/faces/faces_job.h"
#include "job/layer_table.h"
#include "record/record_json.h"

namespace evener::cli {
namespace {

constexpr const char* kDetectExamples = R"(Examples:
  evener detect runs/cells photos/ new.jpg                what is on photos, with boxes likelier than 0.3
  evener detect runs/cells photos/ --out runs/found --save --crops runs/found/crops
  evener detect runs/cells photos/ --out runs/labels --format yolo --confidence 0.5
  evener detect runs/cells                                how well: on what its data has to test on
  evener detect runs/cells --data VOC2007 --part test --out runs/voc
  evener detect runs/cells photos/ --format jsonl --only RBC,WBC --on cpu/t1
  evener detect ssdlite320_mobilenet_v3_large --weights ssdlite320.pth --labels coco.txt street.jpg)";

int tell_detect(const job::DetectFlags& flags) {
  const auto progress = progress_for(*flags.images.images, *flags.output.quiet);
  const job::DetectionRun run = job::detect(flags, *progress);
  const bool wrote_record = write_json(*flags.output.json, record::to_json(run.record));
  // Lines that another program reads stay alone.
  const std::string& format = *flags.output.format;
  const bool for_people = !wrote_record && format != "csv" && format != "jsonl" && format != "coco";
  if (for_people) std::fputs(job::layers_text(run.record).c_str(), stdout);
  if (for_people && run.quality) std::fputs(job::quality_text(*run.quality, run.classes).c_str(), stdout);
  if (for_people && !run.folder.empty()) fmt::print("results                   {}\n", run.folder.string());
  for (const auto& video : run.videos) {
    if (for_people) fmt::print("video                     {}\n", video.string());
  }
  if (for_people && *flags.output.save && std::filesystem::exists(job::pictures_index(run.folder))) {
    fmt::print("pictures                  {}\n", job::pictures_index(run.folder).string());
  }
  if (run.was_stopped) throw Interrupted("stopped; the answers until then are kept");
  if (run.answered == 0) throw Error("none of the images could be read");
  return 0;
}

constexpr const char* kFacesExamples = R"(Examples:
  evener faces photos/ --weights facenet
  evener faces photos/ --detector-weights weights/mtcnn --weights facenet.pt
  evener faces photos/ --detector-weights weights/mtcnn --embedder mobilefacenet --weights 068.ckpt --out runs/family
  evener faces photos/ --detector-weights weights/mtcnn --weights facenet.pt --out runs/family --resume
  evener faces photos/ --detector-weights weights/mtcnn --weights facenet.pt --out runs/family --resume --sort persons/
  evener faces photos/ --detector-weights weights/mtcnn --on cpu/t8 --min-size 40 --largest
  evener faces photos/ --detector scrfd.onnx --embedder arcface.onnx --precision bf16
  evener faces runs/family/embeddings.safetensors --neighbours 10 --limit 0.9 --out runs/again)";

int tell_faces(const job::FacesCommandFlags& flags) {
  ProgressLine progress(*flags.output.quiet);
  const job::FacesRun run = job::find_faces(flags, progress);
  if (!write_json(*flags.output.json, record::to_json(run.record))) {
    for (const std::string& sentence : run.summary) fmt::print("{}\n", sentence);
    fmt::print("results  {}\n", run.results.string());
  }
  if (run.was_stopped) throw Interrupted("stopped; the faces until then are kept");
  return 0;
}

}  // namespace

Command detect_command() {
  const auto flags = std::make_shared<job::DetectFlags>();
  return {.name = "detect",
          .summary = "Find objects on photos with a trained detector; mAP where boxes are known",
          .options = flags->options(),
          .footer = kDetectExamples,
          .complete = [flags](job::Observer& line) { job::complete(*flags, &line); },
          .run = [flags] { return tell_detect(*flags); }};
}

Command faces_command() {
  const auto flags = std::make_shared<job::FacesCommandFlags>();
  return {.name = "faces",
          .summary = "Find the faces on photos, embed them, and cluster them by person",
          .options = flags->options(),
          .footer = kFacesExamples,
          .complete = [flags](job::Observer& line) { job::complete(*flags, &line); },
          .run = [flags] { return tell_faces(*flags); }};
}

}  // namespace evener::cli
