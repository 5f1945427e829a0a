// Images with CVAT's own XML, which names them: in its folder, or in images/ beside it.
#include <algorithm>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/sources/annotation_names.h"
#include "data/sources/cvat_xml.h"
#include "data/sources/folder_listing.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

NamedImages images_beside(const fs::path& xml, const std::string& subset) {
  const fs::path folder = xml.parent_path(), images = folder / "images";
  return NamedImages({folder, images, images / subset, images / "default"});
}

/// Whether a file begins as CVAT's, and some image is there that it names.
bool is_cvat_file(const fs::path& path) {
  constexpr std::size_t kLook = 64 * 1024, kMostNames = 20;
  if (!has_extension(path, {".xml"})) return false;
  std::ifstream in(path, std::ios::binary);
  std::string beginning(kLook, '\0');
  in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(in.gcount()));
  std::vector<std::string> names = cvat_images_in(beginning);
  names.resize(std::min(names.size(), kMostNames));
  NamedImages images = images_beside(path, "");
  return std::ranges::any_of(names, [&](const std::string& name) { return images.find(name).has_value(); });
}

std::vector<fs::path> cvat_files(const fs::path& folder) {
  constexpr std::size_t kMostOthers = 10;
  std::vector<fs::path> files, found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    if (has_extension(it->path(), {".xml"})) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i < files.size() && i < found.size() + kMostOthers; ++i) {
    if (is_cvat_file(files[i])) found.push_back(files[i]);
  }
  return found;
}

void add_image(const CvatImage& read, const fs::path& xml, ClassNames& classes, AnnotatedListing& listing) {
  NamedImages images = images_beside(xml, read.subset);
  const std::optional<fs::path> path = images.find(read.name);
  if (!path) {
    listing.skipped.push_back(
        {xml.string(), "its image " + quoted_text(read.name) + " is missing in '" + images.folder().string() + "'"});
    return;
  }
  AnnotatedImage image{*path, xml.string(), part_named(read.subset).value_or(Part::kUndivided), read.width, read.height,
                       {},    false};
  const auto leave_out = [&](const std::string& what) {
    listing.skipped.push_back({path->string(), what + "; it is left out"});
  };
  for (const std::string& problem : read.problems) leave_out(problem);
  for (const CvatBox& box : read.boxes) {
    if (const std::string refusal = corners_refusal(box.x1, box.y1, box.x2, box.y2); !refusal.empty()) {
      leave_out("a box of " + quoted_text(box.label) + " " + refusal);
      continue;
    }
    image.boxes.push_back({static_cast<float>(box.x1), static_cast<float>(box.y1), static_cast<float>(box.x2),
                           static_cast<float>(box.y2), classes.number(box.label)});
  }
  listing.images.push_back(std::move(image));
}

}  // namespace

bool is_cvat_folder(const fs::path& folder) {
  return !cvat_files(folder).empty();
}

Source open_cvat(const fs::path& location, const DataOptions& options) {
  AnnotatedListing listing;
  listing.kind = "CVAT annotations";
  ClassNames classes;
  for (const fs::path& xml : fs::is_directory(location) ? cvat_files(location) : std::vector<fs::path>{location}) {
    try {
      for (const CvatImage& image : parse_cvat(read_file(xml, kMaxCvatBytes))) add_image(image, xml, classes, listing);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      throw Error("'" + xml.string() + "' can't be used: " + error.what());
    }
  }
  unify_parts(listing);
  classes.finish(listing);
  return open_boxed_images(std::move(listing), location, options);
}

}  // namespace evener::data
