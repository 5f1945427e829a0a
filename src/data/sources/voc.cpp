// Images with PASCAL VOC's XML: each file is read in parallel, checked, and told of when it can't be used.
#include <algorithm>
#include <new>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/each_index.h"
#include "data/image_files.h"
#include "data/sources/annotation_names.h"
#include "data/sources/boxed_images.h"
#include "data/sources/folder_listing.h"
#include "data/sources/source.h"
#include "data/sources/voc_tree.h"
#include "data/sources/voc_xml.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

/// An XML file that is to be read, and the part of its image.
struct VocFile {
  fs::path path;
  std::string name;  // relative to the folder of annotations, without extension
  Part part = Part::kUndivided;
};

/// The image files of a tree by their names.
class ImageFinder {
 public:
  explicit ImageFinder(const fs::path& folder) : folder_(folder) {
    for (fs::path& path : files_below(folder, has_image_extension)) {
      const std::string relative = path.lexically_relative(folder).replace_extension().generic_string();
      by_file_name_.emplace(path.filename().string(), path);
      by_stem_.emplace(path.stem().string(), path);
      by_relative_.emplace(relative, std::move(path));
    }
  }

  /// The image of an XML file: in the same place of its tree, or under the name that the XML tells.
  std::optional<fs::path> find(const VocFile& file, const std::string& told) const {
    const fs::path told_name = fs::path(told).filename();
    for (const auto& [names, name] :
         {std::pair(&by_relative_, file.name), std::pair(&by_file_name_, told_name.string()),
          std::pair(&by_stem_, file.path.stem().string()), std::pair(&by_stem_, told_name.stem().string())}) {
      if (const auto found = names->find(name); found != names->end()) return found->second;
    }
    return std::nullopt;
  }
  std::size_t size() const { return by_relative_.size(); }
  const fs::path& folder() const { return folder_; }

 private:
  using Names = std::unordered_map<std::string, fs::path>;
  fs::path folder_;
  Names by_relative_, by_file_name_, by_stem_;
};

/// The result of reading an XML file: an annotation, or the reason why it can't be used.
struct ReadVoc {
  VocAnnotation annotation;
  std::string refusal;
};

std::vector<ReadVoc> read_all(const std::vector<VocFile>& files, int threads) {
  std::vector<ReadVoc> read(files.size());
  for_each_index(files.size(), threads, [&](std::size_t i) {
    try {
      read[i].annotation = parse_voc(read_file(files[i].path, kMaxVocBytes));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      read[i].refusal = error.what();
    } catch (const std::bad_alloc&) {
      read[i].refusal = "not enough memory to read it";
    }
  });
  return read;
}

/// The XML files of a tree that its image sets name; all, where there are no sets.
std::vector<VocFile> list_files(const VocTree& tree, bool strict, AnnotatedListing& listing) {
  std::vector<VocFile> files;
  AnnotationNames names;
  const auto is_xml = [](const fs::path& path) { return path.extension() == ".xml" || path.extension() == ".XML"; };
  for (fs::path& path : files_below(tree.annotations, is_xml)) {
    VocFile file{std::move(path), {}, tree.part};
    file.name = file.path.lexically_relative(tree.annotations).replace_extension().generic_string();
    if (const auto part = part_named(file.name.substr(0, file.name.find('/')));
        part && file.name.find('/') != std::string::npos) {
      file.part = *part;
    }
    names.insert(file.name);
    files.push_back(std::move(file));
  }
  const std::optional<ImageSets> sets = read_image_sets(tree.sets, names, strict, listing.notes);
  if (!sets) return files;
  const auto is_unnamed = [&](const VocFile& file) { return !sets->contains(file.name); };
  const std::size_t unnamed = std::erase_if(files, is_unnamed);
  for (VocFile& file : files) file.part = sets->at(file.name);
  if (unnamed > 0) {
    listing.notes.push_back(counted(unnamed, "annotation") + " of '" + tree.annotations.string() + "' in no set of '" +
                            tree.sets.string() + "': left out");
  }
  std::size_t missing = 0;
  std::string first;
  for (const auto& [name, part] : *sets) {
    if (names.contains(name)) continue;
    if (missing++ == 0 || name < first) first = name;
  }
  if (missing > 0) {
    listing.skipped.push_back({tree.sets.string(), counted(missing, "image") + " of its sets without an XML file in '" +
                                                       tree.annotations.string() + "', such as '" + printable(first) +
                                                       "'"});
  }
  return files;
}

void add_boxes(const VocAnnotation& annotation, ClassNames& classes, AnnotatedImage& image, AnnotatedListing& listing) {
  for (const std::string& problem : annotation.problems) {
    listing.skipped.push_back({image.annotation, problem + "; the box is left out"});
  }
  for (const VocObject& object : annotation.objects) {
    const std::string refusal = corners_refusal(object.xmin, object.ymin, object.xmax, object.ymax);
    if (!refusal.empty()) {
      listing.skipped.push_back(
          {image.annotation, "a box of '" + printable(object.name) + "' " + refusal + "; the box is left out"});
      continue;
    }
    // VOC's pixel (1, 1) is the first, and the lower right one belongs to the box.
    LabelledBox box{static_cast<float>(object.xmin - 1), static_cast<float>(object.ymin - 1),
                    static_cast<float>(object.xmax), static_cast<float>(object.ymax), classes.number(object.name)};
    box.is_difficult = object.is_difficult;
    box.is_truncated = object.is_truncated;
    image.boxes.push_back(box);
  }
}

void add_tree(const VocTree& tree, const DataOptions& options, ClassNames& classes, AnnotatedListing& listing) {
  const ImageFinder images(tree.images);
  const std::vector<VocFile> files = list_files(tree, options.strict, listing);
  const std::vector<ReadVoc> read = read_all(files, options.threads);
  const std::size_t before = listing.images.size();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [annotation, refusal] = read[i];
    if (!refusal.empty()) {
      listing.skipped.push_back({files[i].path.string(), refusal});
      continue;
    }
    std::optional<fs::path> path = images.find(files[i], annotation.filename);
    if (!path) {
      const std::string name = annotation.filename.empty() ? files[i].name : annotation.filename;
      listing.skipped.push_back({files[i].path.string(), "its image '" + printable(name) + "' is missing in '" +
                                                             images.folder().string() + "'"});
      continue;
    }
    AnnotatedImage image;
    image.image = std::move(*path);
    image.annotation = files[i].path.string();
    image.part = files[i].part;
    image.stated_width = annotation.width, image.stated_height = annotation.height;
    add_boxes(annotation, classes, image, listing);
    listing.images.push_back(std::move(image));
  }
  const std::size_t used = listing.images.size() - before;
  if (tree.sets.empty() && used < images.size()) {
    listing.notes.push_back(counted(images.size() - used, "image file") + " of '" + tree.images.string() +
                            "' without an XML file: left out");
  }
}

}  // namespace

bool is_voc_folder(const fs::path& folder) {
  return !find_voc_trees(folder).empty();
}

Source open_voc(const fs::path& folder, const DataOptions& options) {
  AnnotatedListing listing;
  listing.kind = "VOC annotations";
  ClassNames classes;
  const std::vector<VocTree> trees = find_voc_trees(folder);
  for (const VocTree& tree : trees) add_tree(tree, options, classes, listing);
  if (trees.size() > 1) {
    listing.notes.push_back("images of " + std::to_string(trees.size()) + " folders are taken together");
  }
  unify_parts(listing);
  classes.finish(listing);
  return open_boxed_images(std::move(listing), folder, options);
}

}  // namespace evener::data
