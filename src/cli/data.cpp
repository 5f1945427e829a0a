// evener data info|pack|synth: looks at data, packs it into one file, and generates it.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "cli/choices.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/image_size.h"
#include "cli/progress.h"
#include "data/open_data.h"
#include "data/pack.h"
#include "data/write_folder.h"

namespace evener::cli {
namespace {

/// What opening data takes.
struct SourceFlags {
  std::string location, size, split, decode = "exact";
  std::vector<std::string> classes;
  std::optional<std::int64_t> channels;
  std::uint64_t seed = 1;
  int threads = 0;
  bool strict = false;
};

struct InfoFlags {
  SourceFlags source;
  std::string json;
};

struct PackFlags {
  SourceFlags source;
  std::string out;
  bool overwrite = false;
};

struct SynthFlags {
  std::string kind, out, size;
  std::optional<std::int64_t> count;
  std::uint64_t seed = 1;
  int threads = 0;
};

void set_size(const std::string& text, data::DataOptions& options) {
  if (text.empty()) return;
  const ImageSize size = parse_image_size(text);
  options.width = size.width;
  options.height = size.height;
}

std::vector<std::size_t> images_per_class(const data::Dataset& dataset) {
  std::vector<std::size_t> counts(dataset.classes().size());
  for (std::size_t i = 0; i < dataset.size(); ++i) ++counts[static_cast<std::size_t>(data::label_of(dataset, i))];
  return counts;
}

nlohmann::ordered_json info_json(const std::string& location, const data::OpenedData& opened, double seconds) {
  using Json = nlohmann::ordered_json;
  const data::Dataset& dataset = *opened.dataset;
  const data::ImageShape shape = dataset.shape();
  const std::vector<std::size_t> counts = images_per_class(dataset);
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
      {"boxes", 0},
      {"skipped", skipped},
      {"notes", opened.notes}};
}

std::string info_text(const std::string& location, const data::OpenedData& opened) {
  const data::Dataset& dataset = *opened.dataset;
  const data::ImageShape shape = dataset.shape();
  const std::vector<std::size_t> counts = images_per_class(dataset);
  std::string text = fmt::format("{} ({})\n", location, opened.kind);
  const auto line = [&text](const char* what, const std::string& value) {
    text += fmt::format("{:<9} {}\n", what, value);
  };
  line("images", fmt::format("{} of {}x{} pixels, {}; {} as 8 bit per value", dataset.size(), shape.width, shape.height,
                             shape.channels == 1 ? "grey" : "RGB", bytes_text(dataset.size() * shape.bytes())));
  line("split", fmt::format("{} train, {} val, {} test", opened.split.train.size(), opened.split.val.size(),
                            opened.split.test.size()));
  line("classes", std::to_string(dataset.classes().size()));
  for (std::size_t c = 0; c < counts.size(); ++c) text += fmt::format("{:>9} {}\n", counts[c], dataset.classes()[c]);
  line("skipped", std::to_string(opened.skipped.size()));
  for (const data::Skipped& file : opened.skipped) text += fmt::format("          {}: {}\n", file.file, file.reason);
  for (const std::string& note : opened.notes) line("note", note);
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

data::DataOptions source_options(const SourceFlags& flags) {
  data::DataOptions options;
  options.location = flags.location;
  set_size(flags.size, options);
  options.channels = flags.channels;
  if (!flags.split.empty()) options.split = parse_split(flags.split);
  options.seed = flags.seed;
  options.threads = flags.threads > 0 ? flags.threads : usable_cores();
  options.strict = flags.strict;
  options.classes = parse_classes(flags.classes);
  options.decode = data::parse_decode_mode(flags.decode);
  return options;
}

int run_info(const InfoFlags& flags) {
  data::DataOptions options = source_options(flags.source);
  options.cache_limit_bytes = 1;  // the pixels are not looked at again
  const Stopwatch watch;
  const data::OpenedData opened = open_shown(options);
  const double seconds = watch.seconds();
  if (!flags.json.empty()) {
    const std::string text = info_json(flags.source.location, opened, seconds)
                                 .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                             "\n";
    if (flags.json == "-") {
      std::fputs(text.c_str(), stdout);
      return 0;
    }
    write_file_atomically(flags.json, text);
  }
  std::fputs(info_text(flags.source.location, opened).c_str(), stdout);
  return 0;
}

void print_skipped(const data::OpenedData& opened) {
  for (const data::Skipped& file : opened.skipped) {
    fmt::print(stderr, "skipped {}: {}\n", file.file, file.reason);
  }
  for (const std::string& note : opened.notes) fmt::print(stderr, "note: {}\n", note);
}

int run_pack(const PackFlags& flags) {
  const std::filesystem::path out = flags.out;
  if (out.extension() != ".safetensors") {
    throw UsageError("--out '" + flags.out + "' has to end in .safetensors: by that name --data knows a packed file");
  }
  if (std::filesystem::exists(out) && !flags.overwrite) {
    throw UsageError("'" + flags.out + "' exists; choose another name, or replace it with --overwrite");
  }
  data::DataOptions options = source_options(flags.source);
  options.before_decoding = [&out](std::size_t images, const data::ImageShape& shape) {
    data::require_room_for_pack(images, shape, out);
  };
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  data::write_packed(opened, flags.source.location, out, options.threads);
  print_skipped(opened);
  const data::ImageShape shape = opened.dataset->shape();
  fmt::print("{} images of {}x{} pixels, {}, packed into {} ({}) in {}\n", opened.dataset->size(), shape.width,
             shape.height, shape.channels == 1 ? "grey" : "RGB", flags.out, bytes_text(std::filesystem::file_size(out)),
             duration_text(watch.seconds()));
  return 0;
}

int run_synth(const SynthFlags& flags) {
  data::DataOptions options;
  options.location = "synth:" + flags.kind + (flags.count ? ":" + std::to_string(*flags.count) : "");
  set_size(flags.size, options);
  options.seed = flags.seed;
  options.threads = flags.threads > 0 ? flags.threads : usable_cores();
  options.cache_limit_bytes = 1;  // every image is written once
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  data::write_image_folder(*opened.dataset, flags.out, options.threads);
  const data::ImageShape shape = opened.dataset->shape();
  fmt::print("{} images of {}x{} pixels in {} classes written to {} in {}\n", opened.dataset->size(), shape.width,
             shape.height, opened.dataset->classes().size(), flags.out, duration_text(watch.seconds()));
  return 0;
}

void add_source_options(CLI::App& command, const char* name, SourceFlags& flags) {
  command.add_option(name, flags.location, kDataHelp)->required();
  add_class_option(command, flags.classes);
  command.add_option("--size", flags.size, "Size the images are brought to (default: the first image's)")
      ->type_name("WxH");
  command.add_option("--channels", flags.channels, "1 grey, 3 RGB (default: as the images are)")->type_name("C");
  command.add_option("--split", flags.split, "Percent for train/val/test (default: the data's own parts, or 85/2/13)")
      ->type_name("A/B/C");
  command.add_option("--seed", flags.seed, "Of the split")->capture_default_str();
  command.add_option("--decode", flags.decode, "JPEG decoding: exact, or fast (scaled while decoding)")
      ->capture_default_str();
  command.add_option("--threads", flags.threads, "Threads that decode (default: all cores)")
      ->check(CLI::Range(1, 4096));
  command.add_flag("--strict", flags.strict, "An unusable image is an error");
}

void add_data_info(CLI::App& data, Action& action) {
  auto flags = std::make_shared<InfoFlags>();
  CLI::App* info = data.add_subcommand("info", "Check every image; show classes, counts, split, and what is unusable");
  add_source_options(*info, "DATA", flags->source);
  info->add_option("--json", flags->json, "Write JSON to FILE ('-': to stdout, instead of the text)")
      ->type_name("FILE");
  info->footer(
      "Examples:\n"
      "  evener data info photos/\n"
      "  evener data info fish/ --class bream='Bream GT/**' --class shrimp='Shrimp GT/**'\n"
      "  evener data info photos/ --size 224x224 --split 80/10/10 --json -\n");
  info->callback([flags, &action] { action = [flags] { return run_info(*flags); }; });
}

void add_data_pack(CLI::App& data, Action& action) {
  auto flags = std::make_shared<PackFlags>();
  CLI::App* pack =
      data.add_subcommand("pack", "Decode all images into one file, which --data maps into memory instead of decoding");
  add_source_options(*pack, "SOURCE", flags->source);
  pack->add_option("--out", flags->out, "File to write")->required()->type_name("FILE.safetensors");
  pack->add_flag("--overwrite", flags->overwrite, "Replace the file if it exists");
  pack->footer(
      "Examples:\n"
      "  evener data pack photos/ --size 224x224 --out photos.safetensors\n"
      "  evener train resnet18 --data photos.safetensors\n");
  pack->callback([flags, &action] { action = [flags] { return run_pack(*flags); }; });
}

void add_data_synth(CLI::App& data, Action& action) {
  auto flags = std::make_shared<SynthFlags>();
  CLI::App* synth = data.add_subcommand("synth", "Write generated images as a folder of PNG files");
  synth->add_option("KIND", flags->kind, "masks (9 classes of fish silhouettes) or digits (0 to 9)")->required();
  synth->add_option("--out", flags->out, "Folder to write; must be new or empty")->required()->type_name("DIR");
  synth->add_option("--count", flags->count, "Number of images (default: masks 9000, digits 12000)")->type_name("N");
  synth->add_option("--size", flags->size, "Size of the images (default: masks 590x445, digits 28x28)")
      ->type_name("WxH");
  synth->add_option("--seed", flags->seed, "The same seed gives the same images")->capture_default_str();
  synth->add_option("--threads", flags->threads, "Threads that draw (default: all cores)")->check(CLI::Range(1, 4096));
  synth->footer(
      "Examples:\n"
      "  evener data synth masks --out fish --count 900 --size 197x148\n"
      "  evener data synth digits --out digits\n");
  synth->callback([flags, &action] { action = [flags] { return run_synth(*flags); }; });
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  CLI::App* data = app.add_subcommand("data", "Look at data (info), pack it (pack) and generate it (synth)");
  data->require_subcommand(1);
  add_data_info(*data, action);
  add_data_pack(*data, action);
  add_data_synth(*data, action);
  add_data_fetch(*data, action);
}

}  // namespace evener::cli
