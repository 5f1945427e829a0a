// Folders of images, one step after the other: lists the files by their names alone, decodes each of them once, so that
// bad ones are known before the data is divided, and keeps as many as fit in memory.
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/plural.h"
#include "base/stop.h"
#include "data/image_files.h"
#include "data/sources/folder_listing.h"
#include "data/sources/loaded_images.h"
#include "data/sources/single_files.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

bool is_divided(const FolderListing& listing) {
  return std::ranges::any_of(listing.images, [](const auto& image) { return image.part != Part::kUndivided; });
}

/// Classes that only one of the folders has may be spelt otherwise in another.
void note_own_classes(const std::vector<FolderListing>& listings, const std::vector<fs::path>& folders,
                      std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < listings.size(); ++i) {
    std::string names;
    for (const std::string& name : listings[i].classes) {
      const auto has_name = [&name](const FolderListing& listing) {
        return std::ranges::find(listing.classes, name) != listing.classes.end();
      };
      if (std::ranges::count_if(listings, has_name) == 1) names += (names.empty() ? "'" : ", '") + name + "'";
    }
    if (!names.empty()) notes.push_back("only '" + folders[i].string() + "' has images of " + names);
  }
}

/// Lists the folders, each with `classes` where there are any, and joins their classes by name and their parts. What
/// comes undivided beside a folder with parts is for training. Of a file that is in several the last folder's class
/// counts: its images come first.
FolderListing list_folders(const std::vector<fs::path>& folders, const std::vector<ClassFiles>& classes) {
  std::vector<FolderListing> listings;
  for (const fs::path& folder : folders) {
    listings.push_back(classes.empty() ? list_image_folder(folder) : list_classes(folder, classes));
  }
  if (listings.size() == 1) return std::move(listings.front());
  FolderListing joined;
  std::set<std::string> names;
  for (const FolderListing& listing : listings) names.insert(listing.classes.begin(), listing.classes.end());
  joined.classes.assign(names.begin(), names.end());
  const bool has_parts = std::ranges::any_of(listings, is_divided);
  note_own_classes(listings, folders, joined.notes);
  for (std::size_t i = listings.size(); i-- > 0;) {
    FolderListing& listing = listings[i];
    const bool is_for_training = has_parts && !is_divided(listing);
    for (ListedImage& image : listing.images) {
      const auto place =
          std::ranges::lower_bound(joined.classes, listing.classes[static_cast<std::size_t>(image.label)]);
      image.label = static_cast<std::int32_t>(place - joined.classes.begin());
      if (is_for_training) image.part = Part::kTrain;
      joined.images.push_back(std::move(image));
    }
    std::ranges::move(listing.notes, std::back_inserter(joined.notes));
    if (!is_for_training) continue;
    joined.notes.push_back("'" + folders[i].string() + "' has no parts of its own, as other data has here: its " +
                           counted(listing.images.size(), "image") +
                           (listing.images.size() == 1 ? " is for training" : " are for training"));
  }
  return joined;
}

class ImageFolder : public FileDataset<ClassDataset> {
 public:
  ImageFolder(std::unique_ptr<const LoadedFiles> files, std::vector<std::int32_t> labels)
      : FileDataset(std::move(files)), labels_(std::move(labels)) {}

  std::int32_t label(std::size_t index) const override { return labels_[index]; }

 private:
  std::vector<std::int32_t> labels_;
};

/// Instead of decoding the files: takes all of them for good if there is one whose header can be read.
void trust_all(LoadedFiles& files) {
  for (std::size_t file = 0; file < files.paths.size(); ++file) {
    if (stop_requested()) throw Interrupted("stopped while looking for a readable image");
    try {
      read_picture_header(read_image_file(files.paths[file]));
      std::ranges::fill(files.reasons, "");
      return;
    } catch (const Error& error) {
      files.reasons[file] = error.what();
    }
  }
}

void add_skipped(const LoadedFiles& files, const fs::path& folder, bool strict, std::vector<Skipped>& all) {
  std::vector<Skipped> skipped;
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    if (!files.reasons[i].empty()) skipped.push_back({files.paths[i].string(), files.reasons[i]});
  }
  if (skipped.size() == files.paths.size()) {
    throw Error("none of the " + std::to_string(files.paths.size()) + " image files of '" + folder.string() +
                "' can be used:" + first_skipped(skipped));
  }
  if (strict && !skipped.empty()) {
    throw Error(std::to_string(skipped.size()) + " of " + std::to_string(files.paths.size()) + " image files of '" +
                folder.string() + "' are bad; remove or repair them:" + first_skipped(skipped));
  }
  all.insert(all.end(), skipped.begin(), skipped.end());
}

/// Chooses the good files, numbers the classes that have any, and notes what is odd about them. Returns the labels.
std::vector<std::int32_t> select_samples(LoadedFiles& files, const FolderListing& listing, const fs::path& folder,
                                         Source& source) {
  const std::vector<std::string>& names = listing.classes;
  std::vector<std::size_t> counts(names.size());
  for (std::uint32_t i = 0; i < listing.images.size(); ++i) {
    if (!files.reasons[i].empty()) continue;
    ++counts[static_cast<std::size_t>(listing.images[i].label)];
    files.samples.push_back(i);
    source.parts.push_back(listing.images[i].part);
  }
  std::vector<std::string>&classes = files.classes, of_none, of_one;
  std::vector<std::int32_t> new_label(names.size(), -1);
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (counts[c] == 0) {
      of_none.push_back(names[c]);
      continue;
    }
    if (counts[c] == 1) of_one.push_back(names[c]);
    new_label[c] = static_cast<std::int32_t>(classes.size());
    classes.push_back(names[c]);
  }
  note_classes(of_none, "has no usable image and is left out", "have no usable image and are left out", source);
  note_classes(of_one, "has only one image", "have only one image", source);
  const std::size_t count = listing.images.size();
  if (classes.size() == 1 && !of_none.empty()) {
    throw Error("only the class '" + classes[0] + "' of '" + folder.string() + "' has images that can be read: " +
                std::to_string(count - files.samples.size()) + " of " + std::to_string(count) +
                " image files are bad, and at least two classes are needed. Repair or replace them:" +
                first_skipped(source.skipped));
  }
  if (classes.size() == 1) {
    throw Error("only one class with images in '" + folder.string() + "': '" + classes[0] + "' (" +
                std::to_string(count) + " files); at least two folders with images are needed. If '" +
                innermost_single(folder / classes[0]).string() + "' holds the class folders, give that folder");
  }
  std::vector<std::int32_t> labels;
  for (const std::uint32_t i : files.samples) {
    labels.push_back(new_label[static_cast<std::size_t>(listing.images[i].label)]);
  }
  return labels;
}

/// Leaves one image of those that are one file, in one part; one that lies in two classes has the first, which is told.
void take_each_file_once(FolderListing& listing, const DataOptions& options, std::vector<Skipped>& skipped) {
  std::vector<ListedFile> listed;
  for (const ListedImage& image : listing.images) listed.push_back({image.path, image.part});
  SingleFiles single = single_files(listed, options.threads, options.strict);
  std::vector<ListedImage> images;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    ListedImage& image = listing.images[i];
    const std::size_t place = single.place[i];
    if (place == images.size()) {
      images.push_back({std::move(image.path), image.label, single.files[place].part});
    } else if (image.label != images[place].label) {
      skipped.push_back({image.path.string(), "it is the file '" + images[place].path.string() + "' of the class '" +
                                                  listing.classes[static_cast<std::size_t>(images[place].label)] +
                                                  "', where it stays"});
    }
  }
  listing.images = std::move(images);
  listing.notes.insert(listing.notes.end(), single.notes.begin(), single.notes.end());
}

}  // namespace

Source open_image_folder(const std::vector<fs::path>& folders, const DataOptions& options) {
  FolderListing listing = list_folders(folders, options.classes);
  const fs::path folder = options.location;
  Source source;
  source.kind = "image folder";
  source.has_files = true;
  take_each_file_once(listing, options, source.skipped);
  source.notes = std::move(listing.notes);
  std::vector<fs::path> files;
  for (const ListedImage& image : listing.images) files.push_back(image.path);
  const ImageShape shape = choose_shape(files, options, source.notes);
  if (options.before_decoding) options.before_decoding(listing.images.size(), shape);
  auto loaded = std::make_unique<LoadedFiles>(std::move(files), shape, options);
  if (options.look_only) {
    trust_all(*loaded);
  } else {
    loaded->decode_all(options);
  }
  std::ranges::move(loaded->deep.notes(), std::back_inserter(source.notes));
  add_skipped(*loaded, folder, options.strict, source.skipped);
  std::vector<std::int32_t> labels = select_samples(*loaded, listing, folder, source);
  source.dataset = std::make_shared<ImageFolder>(std::move(loaded), std::move(labels));
  return source;
}

}  // namespace evener::data
