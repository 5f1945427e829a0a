// Options about data, photos and videos: where images come from, and what is done to them before a network sees them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/cpu.h"
#include "data/augment.h"
#include "data/codecs/picture.h"
#include "data/open/drop_list.h"
#include "data/open/open_data.h"
#include "data/video/video_frames.h"
#include "options/option.h"

namespace evener {

struct ImageSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// Reads "197x148" (width x height, in pixels; "224" alone is a square). Throws UsageError with an example.
ImageSize parse_image_size(const std::string& text);

/// The size of `image` with its longer side brought down to `side` and both to multiples of `step`; an image that is
/// smaller keeps its size.
ImageSize scaled_size(const data::ImageShape& image, std::int64_t side, std::int64_t step);

/// Asks for images of the size in `text`, such as "197x148"; an empty text asks for none. Throws UsageError.
void set_size(const std::string& text, data::DataOptions& options);

/// Reads "85/2/13": percent for training, validation and, if given, test; together at most 100. Throws UsageError.
std::vector<double> parse_split(const std::string& text);
/// Reads words such as "bream=Bream GT/**". Throws UsageError.
std::vector<data::ClassFiles> parse_classes(const std::vector<std::string>& words);

/// The options for opening data. `location`: the name of the option for the data, --data or a positional such as
/// SOURCE.
struct SourceFlags : OptionGroup {
  explicit SourceFlags(const std::string& location);

  Option<std::string> location;
  Option<std::vector<std::string>> classes{
      *this, "--class NAME=GLOB", rules().kept_as("class"),
      "Files of a class by their path below the folder, as bream='Bream GT/**', or names of boxes; once for each class "
      "(default: a folder, or a name, per class)"};
  Option<std::string> size{*this, "--size WIDTHxHEIGHT", "Size the images are brought to (default: the first image's)"};
  Option<std::optional<std::int64_t>> channels{*this, "--channels N", "1 grey, 3 colour (default: as the images are)"};
  Option<std::string> split{*this, "--split TRAIN/VALIDATION/TEST",
                            "Percent of the images for each (default: the data's own parts, or 85/2/13)"};
  Option<std::string> decode{*this, "--decode NAME", "exact", suggesting({"exact", "fast"}).kept_as("decode"),
                             "JPEG decoding: exact, or fast (scaled while decoding)"};
  Option<std::string> crop{*this, "--crop NAME", "stretch",
                           suggesting({"stretch", "letterbox", "centre"}).kept_as("crop"),
                           "How images of another shape are fitted: stretch (scaled to it), letterbox (whole, with "
                           "black beside them) or centre (centre crop: their middle)"};
  Option<std::uint64_t> seed{*this, "--seed N", 1, rules().kept_as("seed", true), "Of the split"};
  Option<bool> strict{*this, "--strict", rules().not_recorded(),
                      "An unreadable image is an error instead of being left out"};

  /// The options for data::open_data; the caller sets the number of threads. Throws UsageError.
  data::DataOptions data_options() const;
};

/// The data of a training.
struct DataFlags : SourceFlags {
  DataFlags();

  Option<std::string> augment{
      *this, "--augment CHANGES", rules().with_commas().joined_by(",").kept_as("augment"),
      "Data augmentation, random changes of training images: flip, crop[:PADDING], resized-crop[:LEAST_AREA], "
      "colour[:STRENGTH], mixup[:ALPHA]; where there are boxes also mosaic[:SHARE] and iou-crop; with commas between"};
  Option<std::string> drop{
      *this, "--drop FILE", rules().kept_as("drop"),
      "Images that are left out of training and validation, as their labels are wrong: labels.csv of 'evener data "
      "labels', or a list with the name of an image on each line; all others keep their parts"};
  Option<bool> drop_test{*this, "--drop-test", rules().kept_as("drop-test"), "Leave them out of the test part, too"};
  Option<std::optional<int>> loader_threads{
      *this, "--loader-threads N", within(from_to(0, 1024)),
      "Threads that prepare the batches of each replica together (default: on a CPU 1; beside a GPU half of the cores "
      "that no CPU replica uses, 16 at most; native without --augment: 0, the training thread does)"};

  /// The images of --drop; absent where it isn't given. Throws UsageError.
  std::optional<data::DropList> drop_list() const;

  data::AugmentOptions augment_options() const { return data::parse_augment(*augment); }

 private:
  void check_together() const override;
};

struct VideoFlags : OptionGroup {
  VideoFlags() : OptionGroup("Videos") {}

  Option<std::string> every{
      *this, "--every 1s|10",
      "Of videos and cameras: a frame of each second (1s, 0.5s, 200ms), or each tenth frame (10) (default: all)"};
  Option<std::optional<std::int64_t>> frames{
      *this, "--frames N", within(from_to(1, 1e12)),
      "Of videos and cameras: look at no more frames (default: all; of a camera until Ctrl-C)"};

  /// Throws UsageError.
  data::FrameChoice choice() const {
    data::FrameChoice choice = data::parse_every(*every);
    if (const auto most = *frames) choice.most = static_cast<std::size_t>(*most);
    return choice;
  }

 private:
  void check_together() const override { choice(); }
};

struct WholeSourceFlags : SourceFlags {
  using SourceFlags::SourceFlags;

  Option<std::optional<int>> threads{*this, "--threads N", within(from_to(1, 4096)),
                                     "Threads that decode (default: all cores)"};

  data::DataOptions whole_data_options() const {
    data::DataOptions options = data_options();
    options.threads = threads->value_or(usable_cores());
    return options;
  }
};

}  // namespace evener
