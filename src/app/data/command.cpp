// evener data and its own commands: packs data into one file or writes it for other software, and generates it.
#include "options/command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "app/commands.h"
#include "app/data/data_job.h"
#include "base/names.h"
#include "options/progress_line.h"

namespace evener::app {
namespace {

int tell_pack(const PackFlags& flags) {
  ProgressLine line(false);
  const WrittenData written = pack_data(flags, line);
  const std::string path = written.path.string(), time = duration_text(written.seconds);
  if (flags.is_folder()) {
    fmt::print("{} images with their boxes written to {} in {}\n", written.images, path, time);
    return 0;
  }
  fmt::print("{} images of {}x{} pixels, {}, packed into {} ({}) in {}\n", written.images, written.shape.width,
             written.shape.height, written.shape.channels == 1 ? "grey" : "RGB", path,
             bytes_text(std::filesystem::file_size(written.path)), time);
  return 0;
}

int tell_synth(const SynthFlags& flags) {
  const WrittenData written = draw_data(flags);
  fmt::print("{} images of {}x{} pixels in {} classes written to {} in {}\n", written.images, written.shape.width,
             written.shape.height, written.classes, written.path.string(), duration_text(written.seconds));
  return 0;
}

Command data_pack_command() {
  const auto flags = std::make_shared<PackFlags>();
  return {.name = "pack",
          .summary = "Decode all images into one file, which --data maps into memory instead of decoding",
          .options = flags->options(),
          .footer =
              "Examples:\n"
              "  evener data pack photos/ --size 224x224 --out photos.safetensors\n"
              "  evener train resnet18 --data photos.safetensors\n"
              "  evener data pack VOCdevkit/VOC2007 --size 320x320 --out voc.safetensors\n"
              "  evener data pack VOCdevkit/VOC2007 --size 320x320 --format yolo --out voc-yolo\n",
          .run = [flags] { return tell_pack(*flags); }};
}

Command data_synth_command() {
  const auto flags = std::make_shared<SynthFlags>();
  return {.name = "synth",
          .summary = "Write generated images as a folder of PNG files, with boxes in a format that others read",
          .options = flags->options(),
          .footer =
              "Examples:\n"
              "  evener data synth masks --out fish --count 900 --size 197x148\n"
              "  evener data synth digits --out digits\n"
              "  evener data synth shapes --out shapes --format coco\n",
          .run = [flags] { return tell_synth(*flags); }};
}

}  // namespace

Command data_command() {
  return {
      .name = "data",
      .summary =
          "Look at data (info) and its labels (labels), pack it (pack), generate it (synth) and download it (fetch)",
      .commands = {data_info_command(), training::data_labels_command(), data_pack_command(), data_synth_command(),
                   data_fetch_command()}};
}

}  // namespace evener::app
