// evener data info|labels|pack|synth|fetch: looks at data and for labels that look wrong, packs it into one file or
// writes it for other software, generates it and downloads it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "data/fetch/catalogue.h"
#include "job/data/data_job.h"
#include "job/labels/label_report.h"
#include "job/labels/labels_job.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

int tell_data(const job::DataInfoFlags& flags) {
  ProgressLine line(false);
  const job::Description info = job::look_at_data(flags, line);
  if (!write_json(*flags.json, info.json)) std::fputs(info.text.c_str(), stdout);
  return 0;
}

struct FetchFlags : job::OptionGroup {
  FetchFlags() : job::OptionGroup("Download") {}

  job::Option<std::vector<std::string>> names{*this, {"NAME", "NAME", "What to download (--list shows all)"}};
  job::Option<std::string> out{*this, {"--out", "DIR", "Folder in which each NAME gets a folder of its own"}, "data"};
  job::Option<bool> list{*this, {"--list", "", "Show what there is, with sizes and licences"}};
};

std::string size_text(const data::CatalogueEntry& entry) {
  for (const data::CatalogueFile& file : entry.files) {
    if (!file.bytes) return "?";
  }
  return bytes_text(data::final_bytes(entry));
}

void print_list() {
  std::size_t width = 4;
  for (const auto& entry : data::fetch_catalogue()) width = std::max(width, entry.name.size());
  fmt::print("{:<{}}  {:>8}  {:<20} {}\n", "NAME", width, "SIZE", "LICENCE", "WHAT IT IS");
  for (const auto& entry : data::fetch_catalogue()) {
    fmt::print("{:<{}}  {:>8}  {:<20} {}\n", entry.name, width, size_text(entry), entry.licence, entry.what);
  }
}

std::string use_text(const data::CatalogueEntry& entry, const std::string& folder) {
  std::string text = entry.use;
  const auto hole = text.find("{}");
  return hole == std::string::npos ? text : text.replace(hole, 2, folder);
}

void fetch_one(const data::CatalogueEntry& entry, const std::string& out, const std::string& from) {
  const std::string folder = (fs::path(out) / entry.name).string();
  ProgressLine line(/*quiet=*/false);
  const bool fetched = job::fetch_entry(entry, folder, from, line);
  fmt::print("{} is in {}{}; {}\n  {}\n", entry.name, folder, fetched ? "" : " already", data::checksums_text(entry),
             use_text(entry, folder));
  std::fflush(stdout);  // several take long
}

int run_fetch(const FetchFlags& flags) {
  if (*flags.list) {
    print_list();
    return 0;
  }
  if (flags.names->empty()) throw UsageError("which data set? Give a NAME; 'evener data fetch --list' shows them");
  std::vector<const data::CatalogueEntry*> entries;
  for (const std::string& name : *flags.names) entries.push_back(&data::catalogue_entry(name));
  const std::string from = job::fetch_mirror();
  for (const data::CatalogueEntry* entry : entries) fetch_one(*entry, *flags.out, from);
  return 0;
}

int tell_pack(const job::PackFlags& flags) {
  ProgressLine line(false);
  const job::WrittenData written = job::pack_data(flags, line);
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

int tell_synth(const job::SynthFlags& flags) {
  const job::WrittenData written = job::draw_data(flags);
  fmt::print("{} images of {}x{} pixels in {} classes written to {} in {}\n", written.images, written.shape.width,
             written.shape.height, written.classes, written.path.string(), duration_text(written.seconds));
  return 0;
}

int tell_labels(const job::LabelsCommandFlags& flags) {
  ProgressLine line(*flags.output.quiet);
  const job::LabelFindings findings = job::find_labels(flags, line);
  if (write_json(*flags.output.json, job::labels_json(findings))) return 0;
  std::fputs(job::labels_text(findings).c_str(), stdout);
  if (flags.output.out->empty()) return 0;
  const std::filesystem::path out = *flags.output.out;
  fmt::print("\ntable      {}\npage       {}\n", (out / job::kLabelsTable).string(), (out / job::kLabelsPage).string());
  return 0;
}

Command data_pack_command() {
  const auto flags = std::make_shared<job::PackFlags>();
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
  const auto flags = std::make_shared<job::SynthFlags>();
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

Command data_info_command() {
  const auto flags = std::make_shared<job::DataInfoFlags>();
  return {.name = "info",
          .summary = "Check every image; show classes, counts, split, and what is unusable",
          .options = flags->options(),
          .footer =
              "Examples:\n"
              "  evener data info photos/\n"
              "  evener data info VOCdevkit/VOC2007 --size 320x320\n"
              "  evener data info 'holiday/**/*.jpg'\n"
              "  evener data info fish/ --class bream='Bream GT/**' --class shrimp='Shrimp GT/**'\n"
              "  evener data info photos/ --size 224x224 --split 80/10/10 --json -\n",
          .run = [flags] { return tell_data(*flags); }};
}

Command data_labels_command() {
  const auto flags = std::make_shared<job::LabelsCommandFlags>();
  return {.name = "labels",
          .summary = "Find labels that look wrong: images of another class",
          .options = flags->options(),
          .footer =
              "Examples:\n"
              "  evener data labels photos/ --model mobilenet_v2 --weights mobilenet_v2.pth --out doubts\n"
              "  evener data labels runs/photos --out doubts          the data of a training, by its network\n"
              "  evener data labels mnist/                            by pixels alone\n"
              "  evener train resnet18 --data photos/ --drop doubts/labels.csv\n",
          .complete = [flags](job::Observer& line) { job::complete(*flags, &line); },
          .run = [flags] { return tell_labels(*flags); }};
}

Command data_fetch_command() {
  const auto flags = std::make_shared<FetchFlags>();
  return {
      .name = "fetch",
      .summary = "Download data sets and weights; goes on after a break",
      .options = {flags.get()},
      .footer =
          "EVENER_FETCH_FROM=https://mirror.example/ takes the files from https://mirror.example/NAME/FILE instead.\n"
          "Proxies are taken from https_proxy and no_proxy.\n\n"
          "Examples:\n"
          "  evener data fetch --list\n"
          "  evener data fetch mnist cifar10\n"
          "  evener data fetch resnet18-imagenet --out weights\n",
      .run = [flags] { return run_fetch(*flags); }};
}

Command data_command() {
  return {
      .name = "data",
      .summary =
          "Look at data (info) and its labels (labels), pack it (pack), generate it (synth) and download it (fetch)",
      .commands = {data_info_command(), data_labels_command(), data_pack_command(), data_synth_command(),
                   data_fetch_command()}};
}

}  // namespace evener::cli
