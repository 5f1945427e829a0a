#include "data/sources/boxed_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/glob.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "data/boxes.h"
#include "data/sources/loaded_images.h"
#include "data/sources/single_files.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

class BoxedImages : public FileDataset<Dataset> {
 public:
  BoxedImages(std::unique_ptr<const LoadedFiles> files, std::vector<AnnotatedImage> images)
      : FileDataset(std::move(files)), images_(std::move(images)) {}

  TargetKind target_kind() const override { return TargetKind::kBoxes; }
  SampleTargets targets(std::size_t index) const override { return images_[file(index)].boxes; }

 private:
  std::vector<AnnotatedImage> images_;  // of each file
};

/// Instead of decoding the files: learns their sizes alone.
void look_at_all(LoadedFiles& files, const DataOptions& options) {
  files.for_each(options, [&](std::size_t file) {
    const std::optional<PictureHeader> header = header_of(files.paths[file]);
    if (!header) throw Error("it is no image that can be decoded");
    files.extents[file] = {header->width, header->height};
  });
}

/// Why an image can't be used is told in `source`.
bool is_usable(const LoadedFiles& files, std::uint32_t file, const AnnotatedImage& image, Source& source) {
  const PictureExtent extent = files.extents[file];
  if (!files.reasons[file].empty()) {
    source.skipped.push_back({image.image.string(), files.reasons[file]});
    return false;
  }
  const bool is_turned = image.stated_width == extent.height && image.stated_height == extent.width;
  if (is_turned && extent.width != extent.height) {
    source.skipped.push_back(
        {image.annotation,
         fmt::format("it is for an image of {}x{} pixels, but '{}' is upright with {}x{}: its boxes "
                     "are meant for the image as it lies in the file",
                     image.stated_width, image.stated_height, image.image.string(), extent.width, extent.height)});
    return false;
  }
  return true;
}

/// Brings an image's boxes to the shape that is served, without those that are not on it.
void place_boxes(const LoadedFiles& files, const PictureExtent& extent, AnnotatedImage& image, FirstOf& clipped,
                 Source& source) {
  constexpr float kTolerance = 1.01F;  // pixels beyond the edge that come from rounding and from counting from 1
  const ImageShape own{1, extent.height, extent.width};
  const PictureFrame frame = frame_of(extent.width, extent.height, files.steps);
  std::vector<LabelledBox> placed;
  for (LabelledBox box : image.boxes) {
    if (image.are_shares) {
      box.x1 *= static_cast<float>(extent.width), box.x2 *= static_cast<float>(extent.width);
      box.y1 *= static_cast<float>(extent.height), box.y2 *= static_cast<float>(extent.height);
    }
    const LabelledBox whole = box;
    clip_box(own, box);
    if (!has_area(box)) {
      source.skipped.push_back(
          {image.annotation, fmt::format("a box of '{}' from ({:g}, {:g}) to ({:g}, {:g}) is outside of its image of "
                                         "{}x{} pixels; the box is left out",
                                         printable(files.classes[static_cast<std::size_t>(box.label)]), whole.x1,
                                         whole.y1, whole.x2, whole.y2, extent.width, extent.height)});
      continue;
    }
    if (std::max({box.x1 - whole.x1, box.y1 - whole.y1, whole.x2 - box.x2, whole.y2 - box.y2}) > kTolerance) {
      clipped.add(image.annotation);
    }
    const auto x = [&frame](float at) { return static_cast<float>(at * frame.scale_x + frame.left); };
    const auto y = [&frame](float at) { return static_cast<float>(at * frame.scale_y + frame.top); };
    box.x1 = x(box.x1), box.x2 = x(box.x2), box.y1 = y(box.y1), box.y2 = y(box.y2);
    clip_box(files.steps.shape, box);  // by rounding, or where only the image's middle is served
    if (has_area(box)) placed.push_back(box);
  }
  image.boxes = std::move(placed);
}

/// Chooses the usable images as samples and places their boxes. What is left out goes to `source`.
void select_samples(LoadedFiles& files, std::vector<AnnotatedImage>& images, Source& source) {
  FirstOf clipped, other_size;
  for (std::uint32_t file = 0; file < images.size(); ++file) {
    AnnotatedImage& image = images[file];
    if (!is_usable(files, file, image, source)) continue;
    const PictureExtent extent = files.extents[file];
    const bool is_stated = image.stated_width > 0 && image.stated_height > 0;
    if (is_stated && (image.stated_width != extent.width || image.stated_height != extent.height)) {
      other_size.add(image.annotation);
    }
    place_boxes(files, extent, image, clipped, source);
    files.samples.push_back(file);
    source.parts.push_back(image.part);
  }
  if (clipped.count > 0) {
    source.notes.push_back(counted(clipped.count, "box", "boxes") +
                           " reached beyond the image by more than a pixel, the first in '" + clipped.first +
                           "'; what is on the image was kept");
  }
  if (other_size.count > 0) {
    source.notes.push_back(counted(other_size.count, "annotation") +
                           " with another size than the image has, the first '" + other_size.first +
                           "'; the boxes were taken as pixels of the image as it is");
  }
}

/// Replaces the names of boxes by the classes that the user asks for; several patterns may form one class.
void choose_classes(AnnotatedListing& listing, const std::vector<ClassFiles>& wanted) {
  std::vector<std::string> chosen;
  std::vector<std::int32_t> label_of_wanted;
  for (const ClassFiles& each : wanted) {
    const auto place = std::ranges::find(chosen, each.name);
    label_of_wanted.push_back(static_cast<std::int32_t>(place - chosen.begin()));
    if (place == chosen.end()) chosen.push_back(each.name);
  }
  std::vector<std::int32_t> label_of_name(listing.classes.size(), -1);
  std::vector<std::size_t> found(wanted.size());
  for (std::size_t name = 0; name < listing.classes.size(); ++name) {
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      if (!glob_matches(wanted[c].pattern, listing.classes[name])) continue;
      std::int32_t& label = label_of_name[name];
      if (label >= 0 && label != label_of_wanted[c]) {
        throw UsageError("boxes called '" + listing.classes[name] + "' fit both --class '" +
                         chosen[static_cast<std::size_t>(label)] + "' and '" + wanted[c].name + "'");
      }
      label = label_of_wanted[c];
      ++found[c];
    }
  }
  std::string names;
  for (const std::string& name : listing.classes) names += (names.empty() ? "" : ", ") + printable(name);
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    if (found[c] > 0) continue;
    throw UsageError("no boxes are called as --class " + wanted[c].name + "='" + wanted[c].pattern +
                     "' says; there are " + names);
  }
  std::size_t left_out = 0;
  for (AnnotatedImage& image : listing.images) {
    for (LabelledBox& box : image.boxes) box.label = label_of_name[static_cast<std::size_t>(box.label)];
    left_out += std::erase_if(image.boxes, [](const LabelledBox& box) { return box.label < 0; });
  }
  if (left_out > 0) {
    listing.notes.push_back(std::to_string(left_out) + " boxes of other classes than --class names are left out");
  }
  listing.classes = std::move(chosen);
}

bool are_equal(const LabelledBox& a, const LabelledBox& b) {
  return a.label == b.label && a.x1 == b.x1 && a.y1 == b.y1 && a.x2 == b.x2 && a.y2 == b.y2;
}

/// Makes one image of those that are one file: it has the boxes of all, in one part.
void take_each_file_once(AnnotatedListing& listing, const DataOptions& options) {
  std::vector<ListedFile> listed;
  for (const AnnotatedImage& image : listing.images) listed.push_back({image.image, image.part});
  SingleFiles single = single_files(listed, options.threads, options.strict);
  std::vector<AnnotatedImage> images;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    AnnotatedImage& image = listing.images[i];
    if (single.place[i] == images.size()) {
      image.part = single.files[single.place[i]].part;
      images.push_back(std::move(image));
      continue;
    }
    std::vector<LabelledBox>& boxes = images[single.place[i]].boxes;
    for (const LabelledBox& box : image.boxes) {
      const auto is_same = [&box](const LabelledBox& other) { return are_equal(box, other); };
      if (std::ranges::none_of(boxes, is_same)) boxes.push_back(box);
    }
  }
  listing.images = std::move(images);
  listing.notes.insert(listing.notes.end(), single.notes.begin(), single.notes.end());
}

void check_anything_left(const AnnotatedListing& listing, const fs::path& where) {
  if (listing.images.empty()) {
    throw Error("no image with " + listing.kind + " in '" + where.string() + "'" + first_skipped(listing.skipped));
  }
  if (listing.classes.empty()) {
    throw Error("the " + listing.kind + " of '" + where.string() +
                "' have no box at all, so that there is nothing to detect" + first_skipped(listing.skipped));
  }
}

void check_strict(const Source& source, const fs::path& where, const DataOptions& options) {
  if (source.parts.empty()) {
    throw Error("none of the images of '" + where.string() + "' can be used:" + first_skipped(source.skipped));
  }
  if (options.strict && !source.skipped.empty()) {
    throw Error("something in '" + where.string() + "' is bad; remove or repair it:" + first_skipped(source.skipped));
  }
}

}  // namespace

std::string read_annotation(const fs::path& file, std::uint64_t most_bytes) {
  return text_without_byte_order_mark(read_file(file, most_bytes));
}

std::string corners_refusal(double x1, double y1, double x2, double y2) {
  constexpr double kFarthest = 1e7;  // beyond it floats don't tell pixels apart
  for (const double corner : {x1, y1, x2, y2}) {
    if (!(std::abs(corner) < kFarthest)) return "has an impossible corner (" + fmt::format("{:g}", corner) + ")";
  }
  const std::string corners = fmt::format(" (from {:g}, {:g} to {:g}, {:g})", x1, y1, x2, y2);
  if (x2 < x1 || y2 < y1) return "has swapped corners" + corners;
  if (x2 == x1 || y2 == y1) return "has zero area" + corners;
  return "";
}

void unify_parts(AnnotatedListing& listing) {
  const auto is_divided = [](const AnnotatedImage& image) { return image.part != Part::kUndivided; };
  const auto divided = std::ranges::count_if(listing.images, is_divided);
  if (divided == 0 || divided == std::ssize(listing.images)) return;
  for (AnnotatedImage& image : listing.images) image.part = Part::kUndivided;
  listing.notes.push_back("only " + std::to_string(divided) + " of " + std::to_string(listing.images.size()) +
                          " images are in a set for training, validation or test: all are divided anew");
}

Source open_boxed_images(AnnotatedListing listing, const fs::path& where, const DataOptions& options) {
  check_anything_left(listing, where);
  take_each_file_once(listing, options);
  if (!options.classes.empty()) choose_classes(listing, options.classes);
  Source source;
  source.kind = std::move(listing.kind);
  source.has_files = true;
  source.skipped = std::move(listing.skipped);
  source.notes = std::move(listing.notes);
  std::vector<fs::path> files;
  for (const AnnotatedImage& image : listing.images) files.push_back(image.image);
  const ImageShape shape = choose_shape(files, options, source.notes);
  if (options.before_decoding) options.before_decoding(files.size(), shape);
  auto loaded = std::make_unique<LoadedFiles>(std::move(files), shape, options);
  loaded->classes = std::move(listing.classes);
  if (options.look_only) {
    look_at_all(*loaded, options);
  } else {
    loaded->decode_all(options);
  }
  std::ranges::move(loaded->deep.notes(), std::back_inserter(source.notes));
  select_samples(*loaded, listing.images, source);
  check_strict(source, where, options);
  source.dataset = std::make_shared<BoxedImages>(std::move(loaded), std::move(listing.images));
  return source;
}

}  // namespace evener::data
