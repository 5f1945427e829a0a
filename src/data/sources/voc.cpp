// Images with PASCAL VOC's XML: finds images, XML and image sets by names alone; then each file is read in parallel,
// checked, and told of when it can't be used.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "data/each_index.h"
#include "data/image_files.h"
#include "data/skipped.h"
#include "data/sources/boxed_images.h"
#include "data/sources/folder_listing.h"
#include "data/sources/source.h"
#include "data/sources/voc_xml.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

std::string_view text_of(const pugi::xml_node& parent, const char* name) {
  return trimmed(parent.child(name).text().get());
}

std::optional<double> number_in(std::string_view text) {
  const auto value = to_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// The extent, or 0 where it isn't plausible: many files have 0 or nothing.
std::int64_t extent_in(std::string_view text) {
  const double value = number_in(text).value_or(0);
  return value >= 1 && value <= 1e7 ? static_cast<std::int64_t>(value) : 0;
}

bool is_set(std::string_view flag) {
  return flag == "1" || flag == "true" || flag == "True";
}

/// What is wrong with an object is added to `problems`, and it is left out.
void read_object(const pugi::xml_node& node, VocAnnotation& annotation) {
  VocObject object;
  object.name = text_of(node, "name");
  const std::string called = "object " + std::to_string(annotation.objects.size() + annotation.problems.size() + 1);
  if (object.name.empty()) {
    annotation.problems.push_back(called + " has no name");
    return;
  }
  const pugi::xml_node box = node.child("bndbox");
  if (!box) {
    annotation.problems.push_back(called + " (" + printable(object.name) + ") has no bndbox");
    return;
  }
  const std::pair<const char*, double*> corners[] = {
      {"xmin", &object.xmin}, {"ymin", &object.ymin}, {"xmax", &object.xmax}, {"ymax", &object.ymax}};
  for (const auto& [name, corner] : corners) {
    const std::string_view text = text_of(box, name);
    const std::optional<double> value = number_in(text);
    if (!value) {
      annotation.problems.push_back(called + " (" + printable(object.name) + ") has the " + name + " " +
                                    quoted_text(text) + ", which is no number");
      return;
    }
    *corner = *value;
  }
  object.is_difficult = is_set(text_of(node, "difficult"));
  object.is_truncated = is_set(text_of(node, "truncated"));
  annotation.objects.push_back(std::move(object));
}

/// Numbers names in the order in which they are first met, until all are known.
class ClassNames {
 public:
  std::int32_t number(const std::string& name) {
    return numbers_.emplace(name, static_cast<std::int32_t>(numbers_.size())).first->second;
  }
  /// Writes the names, sorted, into `listing`, and renumbers its boxes in that order.
  void finish(AnnotatedListing& listing) const {
    std::vector<std::int32_t> renumbered(numbers_.size());
    for (const auto& [name, number] : numbers_) {
      renumbered[static_cast<std::size_t>(number)] = static_cast<std::int32_t>(listing.classes.size());
      listing.classes.push_back(name);
    }
    for (AnnotatedImage& image : listing.images) {
      for (LabelledBox& box : image.boxes) box.label = renumbered[static_cast<std::size_t>(box.label)];
    }
  }

 private:
  std::map<std::string, std::int32_t> numbers_;
};

/// A folder of images and a folder with an XML file for each; they may be the same folder.
struct VocTree {
  std::filesystem::path images, annotations;
  std::filesystem::path sets;    // ImageSets/Main, or empty
  Part part = Part::kUndivided;  // by the name of the tree's folder
};

using ImageSets = std::unordered_map<std::string, Part>;
using AnnotationNames = std::unordered_set<std::string>;

/// Whether a file is the XML of a VOC annotation, by its beginning.
bool is_voc_file(const fs::path& path) {
  constexpr std::string_view kRoot = "<annotation";
  std::ifstream in(path, std::ios::binary);
  std::string beginning(4096, '\0');
  in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(in.gcount()));
  std::erase(beginning, '\0');  // UTF-16
  const std::size_t at = beginning.find(kRoot);
  if (at == std::string::npos) return false;
  const char next = at + kRoot.size() < beginning.size() ? beginning[at + kRoot.size()] : '>';
  return next == '>' || next == '/' ||
         std::isspace(static_cast<unsigned char>(next)) != 0;  // not <annotations>, which is CVAT's
}

struct Entries {
  std::vector<fs::path> folders, xml;  // sorted
};

Entries list(const fs::path& folder) {
  Entries entries;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (is_passed_over(it->path())) continue;
    std::error_code ignored;
    if (has_extension(it->path(), {".xml"})) {
      entries.xml.push_back(it->path());
    } else if (!has_image_extension(it->path()) && it->is_directory(ignored)) {
      entries.folders.push_back(it->path());
    }
  }
  if (error) throw Error("can't list the folder '" + folder.string() + "': " + error.message());
  std::sort(entries.folders.begin(), entries.folders.end());
  std::sort(entries.xml.begin(), entries.xml.end());
  return entries;
}

/// Whether there is VOC's XML in a folder; files of another kind may lie between.
bool has_voc_files(const Entries& entries) {
  constexpr std::size_t kMostRead = 10;
  const std::size_t read = std::min(entries.xml.size(), kMostRead);
  return std::any_of(entries.xml.begin(), entries.xml.begin() + static_cast<std::ptrdiff_t>(read), is_voc_file);
}

fs::path folder_called(const std::vector<fs::path>& folders, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (const fs::path& folder : folders) {
      if (lower_case(folder.filename().string()) == name) return folder;
    }
  }
  return {};
}

/// Whether there is VOC's XML in a folder or in those in it, which may be parts.
bool has_voc_files_within(const fs::path& folder) {
  const Entries entries = list(folder);
  const auto has_files = [](const fs::path& inner) { return has_voc_files(list(inner)); };
  return has_voc_files(entries) || std::ranges::any_of(entries.folders, has_files);
}

/// The names in a file of ImageSets/Main: of each line all, or what stands before the number that VOC's files of a
/// class have behind it. Names may have blanks in them.
std::vector<std::string> names_in(const fs::path& file, const AnnotationNames& known) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
  constexpr std::string_view kBlank = " \t";
  std::vector<std::string> names;
  for (std::string& name : read_list(file, kMostBytes)) {
    const std::size_t blank = name.find_last_of(kBlank);
    if (blank != std::string::npos && !known.contains(name)) {
      const std::string last = name.substr(blank + 1);
      if (last == "-1" || last == "0" || last == "1") name.erase(name.find_last_not_of(kBlank, blank) + 1);
    }
    names.push_back(std::move(name));
  }
  return names;
}

/// The trees in a folder: JPEGImages/ and Annotations/ (also under the names images, annotations, xml and such), or one
/// folder with images and XML; those of the folder itself, else those of the folders in it, down to `depth` folders.
/// None if there is no XML that begins as VOC's.
std::vector<VocTree> find_voc_trees(const fs::path& folder, int depth = 3) {
  const Entries entries = list(folder);
  const fs::path images = folder_called(entries.folders, {"jpegimages", "images", "image", "imgs", "img"});
  const fs::path annotations =
      folder_called(entries.folders, {"annotations", "annotation", "xmls", "xml", "anns", "labels"});
  if (!images.empty() && !annotations.empty()) {
    const fs::path sets = folder / "ImageSets" / "Main";
    if (has_voc_files_within(annotations)) {
      return {{images, annotations, fs::is_directory(sets) ? sets : fs::path()}};
    }
  }
  if (has_voc_files(entries)) return {{folder, folder, {}}};
  std::vector<VocTree> trees;
  for (std::size_t i = 0; i < entries.folders.size() && depth > 0; ++i) {
    for (VocTree& tree : find_voc_trees(entries.folders[i], depth - 1)) {
      if (const auto part = part_named(entries.folders[i].filename().string())) tree.part = *part;
      trees.push_back(std::move(tree));
    }
  }
  return trees;
}

/// Which part each image of train.txt, val.txt and test.txt belongs to, by its name without extension; images of
/// trainval.txt alone are for training. An image in several files belongs to the first of test, validation and
/// training, with a note, or with `strict` an Error. Absent where there are no such files: then all images count,
/// undivided. `known`: the names of the tree's annotations, by which a number that is part of a name is told from a
/// flag behind it.
std::optional<ImageSets> read_image_sets(const fs::path& folder, const AnnotationNames& known, bool strict,
                                         std::vector<std::string>& notes) {
  if (folder.empty()) return std::nullopt;
  ImageSets sets;
  bool has_any = false;
  FirstOf repeated;
  for (const auto& [name, part] : {std::pair("train", Part::kTrain), std::pair("val", Part::kVal),
                                   std::pair("test", Part::kTest), std::pair("trainval", Part::kTrain)}) {
    const fs::path file = folder / (std::string(name) + ".txt");
    if (!fs::exists(file)) continue;
    has_any = true;
    for (std::string& image : names_in(file, known)) {
      const auto [found, is_new] = sets.emplace(std::move(image), part);
      const bool is_of_trainval = std::string_view(name) == "trainval" && found->second != Part::kTest;
      if (is_new || is_of_trainval || found->second == part) continue;
      repeated.add(found->first);
      found->second = std::max(found->second, part);  // training, validation, test
    }
  }
  if (!has_any) return std::nullopt;
  if (repeated.count > 0) {
    const std::string what = counted(repeated.count, "image") + " in more than one of the sets of '" + folder.string() +
                             "', such as " + quoted_text(repeated.first);
    if (strict) throw Error(what + "; name each in one of them, or leave --strict out");
    notes.push_back(what + ": each counts in the first of test, validation and training");
  }
  return sets;
}

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
  std::vector<VocAnnotation> annotations(files.size());
  std::vector<std::string> refusals(files.size());  // why they can't be used
  for_each_index(files.size(), options.threads, [&](std::size_t i) {
    refusals[i] = failure_of([&] { annotations[i] = parse_voc(read_file(files[i].path, kMaxVocBytes)); }, "read it");
  });
  const std::size_t before = listing.images.size();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const VocAnnotation& annotation = annotations[i];
    if (!refusals[i].empty()) {
      listing.skipped.push_back({files[i].path.string(), refusals[i]});
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

VocAnnotation parse_voc(std::string_view file) {
  if (trimmed(file).empty()) throw Error("it is empty");
  if (file.size() > kMaxVocBytes) {
    throw Error("it has " + bytes_text(file.size()) + "; annotations of one image have at most " +
                bytes_text(kMaxVocBytes));
  }
  // pugixml passes over document types and knows only the five entities of XML itself, so that none can grow.
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(file.data(), file.size());
  if (!parsed) {
    throw Error("it is no whole XML: " + std::string(parsed.description()) + " at byte " +
                std::to_string(parsed.offset));
  }
  const pugi::xml_node root = document.child("annotation");
  if (!root) throw Error("it has no <annotation>");
  VocAnnotation annotation;
  annotation.filename = text_of(root, "filename");
  const pugi::xml_node size = root.child("size");
  annotation.width = extent_in(text_of(size, "width"));
  annotation.height = extent_in(text_of(size, "height"));
  std::size_t objects = 0;
  for (const pugi::xml_node& node : root.children("object")) {
    if (++objects > kMaxVocObjects) {
      throw Error("it has more than " + std::to_string(kMaxVocObjects) + " objects for one image");
    }
    read_object(node, annotation);
  }
  return annotation;
}

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
