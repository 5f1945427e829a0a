// evener data pack|synth: packs data into one file, writes it for other software, and generates it.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/terminal_text.h"
#include "cli/command.h"
#include "data/open_data.h"
#include "data/pack.h"
#include "data/write_boxes.h"
#include "data/write_folder.h"
#include "job/data/reading_flow.h"
#include "job/options/whole_source_flags.h"

namespace evener::cli {
namespace {

constexpr const char* kPacked = "safetensors";

struct PackFlags : job::OptionGroup {
  PackFlags() : job::OptionGroup("Output") {}

  job::WholeSourceFlags source{"SOURCE"};
  job::Option<std::string> out{
      *this, {"--out", "FILE", "File (.safetensors) or folder to write"}, "", {.required = true}};
  job::Option<std::string> format{
      *this,
      {"--format", "NAME",
       "safetensors, or a folder of PNG files with their boxes for other software: voc, coco, yolo"},
      kPacked,
      {.suggestions = {kPacked, "voc", "coco", "yolo"}}};
  job::Option<bool> overwrite{*this, {"--overwrite", "", "Replace the file if it exists"}};

  bool is_folder() const { return *format != kPacked; }

 private:
  void check_together() const override {
    if (is_folder()) {
      data::parse_box_format(*format);
      return;
    }
    if (std::filesystem::path(*out).extension() == ".safetensors") return;
    throw UsageError("--out '" + *out + "' has to end in .safetensors: by that name --data knows a packed file");
  }
};

struct SynthFlags : job::OptionGroup {
  SynthFlags() : job::OptionGroup("Images") {}

  job::Option<std::string> kind{
      *this,
      {"KIND", "NAME", "masks (9 classes of fish silhouettes), digits (0 to 9) or shapes (with boxes)"},
      "",
      {.required = true}};
  job::Option<std::string> out{
      *this, {"--out", "DIR", "Folder to write; must be new or empty"}, "", {.required = true}};
  job::Option<std::optional<std::int64_t>> count{
      *this, {"--count", "N", "Number of images (default: masks 9000, digits 12000, shapes 2000)"}};
  job::Option<std::string> size{
      *this, {"--size", "WIDTHxHEIGHT", "Size of the images (default: masks 590x445, digits 28x28, shapes 128x128)"}};
  job::Option<std::string> format{*this,
                                  {"--format", "NAME", "How shapes are written: voc, coco or yolo"},
                                  "voc",
                                  {.suggestions = {"voc", "coco", "yolo"}}};
  job::Option<std::uint64_t> seed{*this, {"--seed", "N", "The same seed gives the same images"}, 1};
  job::Option<std::optional<int>> threads{
      *this, {"--threads", "N", "Threads that draw (default: all cores)"}, {}, {.range = job::from_to(1, 4096)}};
};

void print_skipped(const data::OpenedData& opened) {
  for (const data::Skipped& file : opened.skipped) {
    fmt::print(stderr, "skipped {}: {}\n", one_line(file.file), one_line(file.reason));
  }
  for (const std::string& note : opened.notes) fmt::print(stderr, "note: {}\n", one_line(note));
}

int run_pack(const PackFlags& flags) {
  const std::filesystem::path out = *flags.out;
  if (!flags.is_folder() && std::filesystem::exists(out) && !*flags.overwrite) {
    throw UsageError("'" + *flags.out + "' exists; choose another name, or replace it with --overwrite");
  }
  data::DataOptions options = flags.source.whole_data_options();
  if (!flags.is_folder()) {
    options.before_decoding = [&out](std::size_t images, const data::ImageShape& shape) {
      data::require_room_for_pack(images, shape, out);
    };
  }
  parallel::FlowReport reading;
  job::read_by_flow(options, reading);
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  print_skipped(opened);
  if (const std::string text = job::reading_text(reading); !text.empty()) fmt::print(stderr, "read {}\n", text);
  if (flags.is_folder()) {
    data::write_box_folder(*opened.dataset, opened.split, out, data::parse_box_format(*flags.format), options.threads);
    fmt::print("{} images with their boxes written to {} in {}\n", opened.dataset->size(), *flags.out,
               duration_text(watch.seconds()));
    return 0;
  }
  data::write_packed(opened, *flags.source.location, out, options.threads);
  const data::ImageShape shape = opened.dataset->shape();
  fmt::print("{} images of {}x{} pixels, {}, packed into {} ({}) in {}\n", opened.dataset->size(), shape.width,
             shape.height, shape.channels == 1 ? "grey" : "RGB", *flags.out,
             bytes_text(std::filesystem::file_size(out)), duration_text(watch.seconds()));
  return 0;
}

int run_synth(const SynthFlags& flags) {
  data::DataOptions options;
  options.location = "synth:" + *flags.kind + (*flags.count ? ":" + std::to_string(**flags.count) : "");
  job::set_size(*flags.size, options);
  options.seed = *flags.seed;
  options.threads = flags.threads->value_or(usable_cores());
  options.cache_limit_bytes = 1;  // every image is written once
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  if (opened.dataset->target_kind() == data::TargetKind::kBoxes) {
    data::write_box_folder(*opened.dataset, opened.split, *flags.out, data::parse_box_format(*flags.format),
                           options.threads);
  } else {
    data::write_image_folder(*opened.dataset, *flags.out, options.threads);
  }
  const data::ImageShape shape = opened.dataset->shape();
  fmt::print("{} images of {}x{} pixels in {} classes written to {} in {}\n", opened.dataset->size(), shape.width,
             shape.height, opened.dataset->classes().size(), *flags.out, duration_text(watch.seconds()));
  return 0;
}

Command data_pack_command() {
  const auto flags = std::make_shared<PackFlags>();
  return {.name = "pack",
          .summary = "Decode all images into one file, which --data maps into memory instead of decoding",
          .options = {&flags->source, flags.get()},
          .footer =
              "Examples:\n"
              "  evener data pack photos/ --size 224x224 --out photos.safetensors\n"
              "  evener train resnet18 --data photos.safetensors\n"
              "  evener data pack VOCdevkit/VOC2007 --size 320x320 --out voc.safetensors\n"
              "  evener data pack VOCdevkit/VOC2007 --size 320x320 --format yolo --out voc-yolo\n",
          .run = [flags] { return run_pack(*flags); }};
}

Command data_synth_command() {
  const auto flags = std::make_shared<SynthFlags>();
  return {.name = "synth",
          .summary = "Write generated images as a folder of PNG files, with boxes in a format that others read",
          .options = {flags.get()},
          .footer =
              "Examples:\n"
              "  evener data synth masks --out fish --count 900 --size 197x148\n"
              "  evener data synth digits --out digits\n"
              "  evener data synth shapes --out shapes --format coco\n",
          .run = [flags] { return run_synth(*flags); }};
}

}  // namespace

Command data_command() {
  return {.name = "data",
          .summary = "Look at data (info), pack it (pack), generate it (synth) and download it (fetch)",
          .commands = {data_info_command(), data_pack_command(), data_synth_command(), data_fetch_command()}};
}

}  // namespace evener::cli
