// evener detect: what is on photos, and how well that is known.
#include "options/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "detect/box_sink.h"
#include "detect/detect.h"
#include "detect/pictures.h"
#include "infer/run/layer_table.h"
#include "options/output.h"
#include "options/progress_line.h"
#include "record/record_json.h"

namespace evener::detection {
namespace {

constexpr const char* kDetectExamples = R"(Examples:
  evener detect runs/cells photos/ new.jpg                what is on photos, with boxes likelier than 0.3
  evener detect runs/cells photos/ --out runs/found --save --crops runs/found/crops
  evener detect runs/cells photos/ --out runs/labels --format yolo --confidence 0.5
  evener detect runs/cells                                how well: on what its data has to test on
  evener detect runs/cells --data VOC2007 --part test --out runs/voc
  evener detect runs/cells photos/ --format jsonl --only RBC,WBC --on cpu/t1
  evener detect ssdlite320_mobilenet_v3_large --weights ssdlite320.pth --labels coco.txt street.jpg)";

int tell_detect(const DetectFlags& flags) {
  const auto progress = progress_for(*flags.images.images, *flags.output.quiet);
  const DetectionRun run = detect(flags, *progress);
  const bool wrote_record = write_json(*flags.output.json, record::to_json(run.record));
  // Lines that another program reads stay alone.
  const std::string& format = *flags.output.format;
  const bool for_people = !wrote_record && format != "csv" && format != "jsonl" && format != "coco";
  if (for_people) std::fputs(inference::layers_text(run.record).c_str(), stdout);
  if (for_people && run.quality) std::fputs(quality_text(*run.quality, run.classes).c_str(), stdout);
  if (for_people && !run.folder.empty()) fmt::print("results                   {}\n", run.folder.string());
  for (const auto& video : run.videos) {
    if (for_people) fmt::print("video                     {}\n", video.string());
  }
  if (for_people && *flags.output.save && std::filesystem::exists(pictures_index(run.folder))) {
    fmt::print("pictures                  {}\n", pictures_index(run.folder).string());
  }
  if (run.was_stopped) throw Interrupted("stopped; the answers until then are kept");
  if (run.answered == 0) throw Error("none of the images could be read");
  return 0;
}

}  // namespace

Command detect_command() {
  const auto flags = std::make_shared<DetectFlags>();
  return {.name = "detect",
          .summary = "Find objects on photos with a trained detector; mAP where boxes are known",
          .options = flags->options(),
          .footer = kDetectExamples,
          .measured = measured_detect,
          .complete = [flags](measure::Observer& line) { complete(*flags, &line); },
          .run = [flags] { return tell_detect(*flags); }};
}

}  // namespace evener::detection
