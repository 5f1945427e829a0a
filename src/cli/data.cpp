// evener data info|pack|synth: looks at data, packs it into one file, and generates it.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/terminal_text.h"
#include "cli/command.h"
#include "cli/options/data_flags.h"
#include "cli/picture_info.h"
#include "cli/progress.h"
#include "data/open_data.h"
#include "data/pack.h"
#include "data/write_folder.h"

namespace evener::cli {
namespace {

int thread_count(const Option<std::optional<int>>& threads) {
  return threads->value_or(usable_cores());
}

/// Images that a command reads all of.
struct WholeSourceFlags : SourceFlags {
  using SourceFlags::SourceFlags;

  Option<std::optional<int>> threads{
      *this, {"--threads", "N", "Threads that decode (default: all cores)"}, {}, {.range = from_to(1, 4096)}};

  data::DataOptions whole_data_options() const {
    data::DataOptions options = data_options();
    options.threads = thread_count(threads);
    return options;
  }
};

struct InfoFlags : OptionGroup {
  InfoFlags() : OptionGroup("Output") {}

  WholeSourceFlags source{"DATA"};
  Option<std::string> json{*this, {"--json", "FILE", "Write JSON to FILE ('-': to stdout, instead of the text)"}};
};

struct PackFlags : OptionGroup {
  PackFlags() : OptionGroup("Output") {}

  WholeSourceFlags source{"SOURCE"};
  Option<std::string> out{*this, {"--out", "FILE.safetensors", "File to write"}, "", {.required = true}};
  Option<bool> overwrite{*this, {"--overwrite", "", "Replace the file if it exists"}};

 private:
  void check_together() const override {
    if (std::filesystem::path(*out).extension() == ".safetensors") return;
    throw UsageError("--out '" + *out + "' has to end in .safetensors: by that name --data knows a packed file");
  }
};

struct SynthFlags : OptionGroup {
  SynthFlags() : OptionGroup("Images") {}

  Option<std::string> kind{
      *this, {"KIND", "NAME", "masks (9 classes of fish silhouettes) or digits (0 to 9)"}, "", {.required = true}};
  Option<std::string> out{*this, {"--out", "DIR", "Folder to write; must be new or empty"}, "", {.required = true}};
  Option<std::optional<std::int64_t>> count{*this,
                                            {"--count", "N", "Number of images (default: masks 9000, digits 12000)"}};
  Option<std::string> size{*this,
                           {"--size", "WIDTHxHEIGHT", "Size of the images (default: masks 590x445, digits 28x28)"}};
  Option<std::uint64_t> seed{*this, {"--seed", "N", "The same seed gives the same images"}, 1};
  Option<std::optional<int>> threads{
      *this, {"--threads", "N", "Threads that draw (default: all cores)"}, {}, {.range = from_to(1, 4096)}};
};

/// Images, or boxes, of each class.
std::vector<std::size_t> count_per_class(const data::Dataset& dataset) {
  std::vector<std::size_t> counts(dataset.classes().size());
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    const data::SampleTargets targets = dataset.targets(i);
    if (const auto* label = std::get_if<std::int32_t>(&targets)) {
      ++counts[static_cast<std::size_t>(*label)];
      continue;
    }
    for (const data::LabelledBox& box : std::get<std::vector<data::LabelledBox>>(targets)) {
      ++counts[static_cast<std::size_t>(box.label)];
    }
  }
  return counts;
}

std::size_t box_count(const data::Dataset& dataset, const std::vector<std::size_t>& per_class) {
  if (dataset.target_kind() == data::TargetKind::kClasses) return 0;
  return std::accumulate(per_class.begin(), per_class.end(), std::size_t{0});
}

nlohmann::ordered_json info_json(const std::string& location, const data::OpenedData& opened, double seconds) {
  using Json = nlohmann::ordered_json;
  const data::Dataset& dataset = *opened.dataset;
  const data::ImageShape shape = dataset.shape();
  const std::vector<std::size_t> counts = count_per_class(dataset);
  Json per_class = Json::object();
  for (std::size_t c = 0; c < counts.size(); ++c) per_class[dataset.classes()[c]] = counts[c];
  Json skipped = Json::array();
  for (const data::Skipped& file : opened.skipped) skipped.push_back({{"file", file.file}, {"reason", file.reason}});
  return {
      {"schema", 1},
      {"kind", "data info"},
      {"location", location},
      {"source", opened.kind},
      {"images", dataset.size()},
      {"seconds", seconds},
      {"shape", {{"channels", shape.channels}, {"height", shape.height}, {"width", shape.width}}},
      {"classes", dataset.classes()},
      {"per_class", per_class},
      {"split",
       {{"train", opened.split.train.size()}, {"val", opened.split.val.size()}, {"test", opened.split.test.size()}}},
      {"boxes", box_count(dataset, counts)},
      {"skipped", skipped},
      {"notes", opened.notes}};
}

std::string info_text(const std::string& location, const data::OpenedData& opened) {
  const data::Dataset& dataset = *opened.dataset;
  const data::ImageShape shape = dataset.shape();
  const std::vector<std::size_t> counts = count_per_class(dataset);
  std::string text = fmt::format("{} ({})\n", one_line(location), opened.kind);
  const auto line = [&text](const char* what, const std::string& value) {
    text += fmt::format("{:<9} {}\n", what, value);
  };
  line("images", fmt::format("{} of {}x{} pixels, {}; {} as 8 bit per value", dataset.size(), shape.width, shape.height,
                             shape.channels == 1 ? "grey" : "RGB", bytes_text(dataset.size() * shape.bytes())));
  line("split", fmt::format("{} train, {} val, {} test", opened.split.train.size(), opened.split.val.size(),
                            opened.split.test.size()));
  line("classes", std::to_string(dataset.classes().size()));
  for (std::size_t c = 0; c < counts.size(); ++c)
    text += fmt::format("{:>9} {}\n", counts[c], one_line(dataset.classes()[c]));
  line("skipped", std::to_string(opened.skipped.size()));
  for (const data::Skipped& file : opened.skipped) {
    text += fmt::format("          {}: {}\n", one_line(file.file), one_line(file.reason));
  }
  for (const std::string& note : opened.notes) line("note", one_line(note));
  return text;
}

/// Opens the data with its progress on stderr.
data::OpenedData open_shown(data::DataOptions options) {
  ProgressLine line(false);
  LoadingProgress loading(line);
  options.progress = [&](std::size_t done, std::size_t images) { loading.update("reading images", done, images); };
  try {
    data::OpenedData opened = data::open_data(options);
    line.finish();
    return opened;
  } catch (...) {
    line.finish();
    throw;
  }
}

/// Pictures without classes are told of as they are: what shapes or divides data does not apply to them.
int run_classless_info(const InfoFlags& flags, const data::DataOptions& options) {
  if (options.width || options.channels || !options.split.empty()) {
    throw UsageError("'" + options.location +
                     "' has no classes, so info tells of its pictures as they are; leave --size, --channels and "
                     "--split out, or say with --class NAME=GLOB which files form which class");
  }
  return run_picture_info({options.location, options.threads, options.strict, *flags.json});
}

int run_info(const InfoFlags& flags) {
  if (!flags.json->empty() && *flags.json != "-") require_writable_file(*flags.json);
  data::DataOptions options = flags.source.whole_data_options();
  if (options.classes.empty() && data::has_pictures_only(options.location)) return run_classless_info(flags, options);
  options.cache_limit_bytes = 1;  // the pixels are not looked at again
  const Stopwatch watch;
  const data::OpenedData opened = open_shown(options);
  const double seconds = watch.seconds();
  if (!flags.json->empty()) {
    const std::string text = info_json(*flags.source.location, opened, seconds)
                                 .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                             "\n";
    if (*flags.json == "-") {
      std::fputs(text.c_str(), stdout);
      return 0;
    }
    write_file_atomically(*flags.json, text);
  }
  std::fputs(info_text(*flags.source.location, opened).c_str(), stdout);
  return 0;
}

void print_skipped(const data::OpenedData& opened) {
  for (const data::Skipped& file : opened.skipped) {
    fmt::print(stderr, "skipped {}: {}\n", one_line(file.file), one_line(file.reason));
  }
  for (const std::string& note : opened.notes) fmt::print(stderr, "note: {}\n", one_line(note));
}

int run_pack(const PackFlags& flags) {
  const std::filesystem::path out = *flags.out;
  if (std::filesystem::exists(out) && !*flags.overwrite) {
    throw UsageError("'" + *flags.out + "' exists; choose another name, or replace it with --overwrite");
  }
  data::DataOptions options = flags.source.whole_data_options();
  options.before_decoding = [&out](std::size_t images, const data::ImageShape& shape) {
    data::require_room_for_pack(images, shape, out);
  };
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  data::write_packed(opened, *flags.source.location, out, options.threads);
  print_skipped(opened);
  const data::ImageShape shape = opened.dataset->shape();
  fmt::print("{} images of {}x{} pixels, {}, packed into {} ({}) in {}\n", opened.dataset->size(), shape.width,
             shape.height, shape.channels == 1 ? "grey" : "RGB", *flags.out,
             bytes_text(std::filesystem::file_size(out)), duration_text(watch.seconds()));
  return 0;
}

int run_synth(const SynthFlags& flags) {
  data::DataOptions options;
  options.location = "synth:" + *flags.kind + (*flags.count ? ":" + std::to_string(**flags.count) : "");
  set_size(*flags.size, options);
  options.seed = *flags.seed;
  options.threads = thread_count(flags.threads);
  options.cache_limit_bytes = 1;  // every image is written once
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  data::write_image_folder(*opened.dataset, *flags.out, options.threads);
  const data::ImageShape shape = opened.dataset->shape();
  fmt::print("{} images of {}x{} pixels in {} classes written to {} in {}\n", opened.dataset->size(), shape.width,
             shape.height, opened.dataset->classes().size(), *flags.out, duration_text(watch.seconds()));
  return 0;
}

Command data_info_command() {
  const auto flags = std::make_shared<InfoFlags>();
  return {.name = "info",
          .summary = "Check every image; show classes, counts, split, and what is unusable",
          .options = {&flags->source, flags.get()},
          .footer =
              "Examples:\n"
              "  evener data info photos/\n"
              "  evener data info 'holiday/**/*.jpg'\n"
              "  evener data info fish/ --class bream='Bream GT/**' --class shrimp='Shrimp GT/**'\n"
              "  evener data info photos/ --size 224x224 --split 80/10/10 --json -\n",
          .run = [flags] { return run_info(*flags); }};
}

Command data_pack_command() {
  const auto flags = std::make_shared<PackFlags>();
  return {.name = "pack",
          .summary = "Decode all images into one file, which --data maps into memory instead of decoding",
          .options = {&flags->source, flags.get()},
          .footer =
              "Examples:\n"
              "  evener data pack photos/ --size 224x224 --out photos.safetensors\n"
              "  evener train resnet18 --data photos.safetensors\n",
          .run = [flags] { return run_pack(*flags); }};
}

Command data_synth_command() {
  const auto flags = std::make_shared<SynthFlags>();
  return {.name = "synth",
          .summary = "Write generated images as a folder of PNG files",
          .options = {flags.get()},
          .footer =
              "Examples:\n"
              "  evener data synth masks --out fish --count 900 --size 197x148\n"
              "  evener data synth digits --out digits\n",
          .run = [flags] { return run_synth(*flags); }};
}

}  // namespace

Command data_command() {
  return {.name = "data",
          .summary = "Look at data (info), pack it (pack) and generate it (synth)",
          .commands = {data_info_command(), data_pack_command(), data_synth_command(), data_fetch_command()}};
}

}  // namespace evener::cli
