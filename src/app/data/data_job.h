// Describes data (its images, classes and parts, and what is wrong with it), and writes it: packed into one file, as a
// folder for other software, or drawn synthetically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "data/codecs/picture.h"
#include "data/open/open_data.h"
#include "measure/run/observer.h"
#include "options/data_flags.h"
#include "options/description.h"
#include "options/option.h"
#include "parallel/flow.h"

namespace evener::app {

struct DataInfoFlags : OptionGroup {
  DataInfoFlags() : OptionGroup("Output") {}

  WholeSourceFlags source{"DATA"};
  Option<std::string> json{*this, "--json FILE", "Write JSON to FILE ('-': to stdout, instead of the text)"};

  Option<std::string> copies{*this, "--copies FILE.csv",
                             "Compare the images of all parts, and write each that is also in training to FILE.csv"};

  OptionSet options() { return {&source, this}; }
};

/// Decodes every image once; tells their classes, counts and parts, and which files are unusable. Throws UsageError and
/// Error.
Description look_at_data(const DataInfoFlags& flags, measure::Observer& observer);

struct PackFlags : OptionGroup {
  PackFlags() : OptionGroup("Output") {}

  WholeSourceFlags source{"SOURCE"};
  Option<std::string> out{*this, "--out FILE", rules().needed(), "File (.safetensors) or folder to write"};
  Option<std::string> format{
      *this, "--format NAME", "safetensors", suggesting({"safetensors", "voc", "coco", "yolo"}),
      "safetensors, or a folder of PNG files with their boxes for other software: voc, coco, yolo"};
  Option<bool> overwrite{*this, "--overwrite", "Replace the file if it exists"};

  OptionSet options() { return {&source, this}; }
  bool is_folder() const { return *format != "safetensors"; }

 private:
  void check_together() const override;
};

struct SynthFlags : OptionGroup {
  SynthFlags() : OptionGroup("Images") {}

  Option<std::string> kind{*this, "KIND NAME", rules().needed(),
                           "masks (9 classes of fish silhouettes), digits (0 to 9) or shapes (with boxes)"};
  Option<std::string> out{*this, "--out DIR", rules().needed(), "Folder to write; must be new or empty"};
  Option<std::optional<std::int64_t>> count{*this, "--count N",
                                            "Number of images (default: masks 9000, digits 12000, shapes 2000)"};
  Option<std::string> size{*this, "--size WIDTHxHEIGHT",
                           "Size of the images (default: masks 590x445, digits 28x28, shapes 128x128)"};
  Option<std::string> format{*this, "--format NAME", "voc", suggesting({"voc", "coco", "yolo"}),
                             "How shapes are written: voc, coco or yolo"};
  Option<std::uint64_t> seed{*this, "--seed N", 1, "The same seed gives the same images"};
  Option<std::optional<int>> threads{*this, "--threads N", within(from_to(1, 4096)),
                                     "Threads that draw (default: all cores)"};

  OptionSet options() { return {this}; }
  /// The images to draw. Throws UsageError.
  data::DataOptions data_options() const;
};

struct WrittenData {
  std::filesystem::path path;
  std::size_t images = 0;
  data::ImageShape shape;
  std::size_t classes = 0;
  double seconds = 0;
};

/// Decodes all images and writes them, with their boxes where they have some, in the format of --format. Notes unusable
/// files. Throws UsageError and Error.
WrittenData pack_data(const PackFlags& flags, measure::Observer& observer);

/// Generates images and writes them as PNG files. Throws UsageError and Error.
WrittenData draw_data(const SynthFlags& flags);

// Reads data through a parallel::Flow, to report what its workers did.

/// Changes `options` so that opening the data decodes its files by a flow with options.threads workers, whose report is
/// written into `report` (without steps where there were no files to decode). Both must outlive the opening.
void read_by_flow(data::DataOptions& options, parallel::FlowReport& report);

/// "364 images in 0.5 s, 728 images/s; 2 workers busy 97 %; 7.9 of 8 waiting on average"; "" where nothing was read.
std::string reading_text(const parallel::FlowReport& report);

/// {seconds, images_per_s, queue{capacity, mean_depth, max_depth}, workers[{images, images_per_s, busy_s, wait_s}]}, or
/// null.
nlohmann::ordered_json reading_json(const parallel::FlowReport& report);

}  // namespace evener::app
