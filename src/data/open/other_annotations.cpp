#include "data/open/other_annotations.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <vector>

#include "data/image_files.h"
#include "data/sources/boxed_images.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 20;  // of a folder that are looked at

/// A format, by words that its files have all of in their beginning.
struct Format {
  const char* name;
  std::array<const char*, 2> words;
};
constexpr Format kFormats[] = {{"Labelme's JSON", {"\"shapes\"", "\"shape_type\""}},
                               {"CreateML's JSON", {"\"annotations\"", "\"coordinates\""}},
                               {"VGG Image Annotator's JSON", {"\"regions\"", "\"shape_attributes\""}},
                               {"Label Studio's JSON", {"\"annotations\"", "\"rectanglelabels\""}},
                               {"CVAT's XML", {"<annotations", ""}},
                               {"a table of boxes", {"xmin", "ymin"}}};

std::string beginning_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(16 * 1024, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  std::erase(text, '\0');  // UTF-16
  return text;
}

/// The format of a file; "" if it is none of those.
std::string_view format_of(const fs::path& file) {
  if (!has_extension(file, {".json", ".xml", ".csv"})) return "";
  const std::string beginning = beginning_of(file);
  const auto has = [&](const char* word) { return beginning.find(word) != std::string::npos; };
  for (const Format& format : kFormats) {
    if (std::ranges::all_of(format.words, has)) return format.name;
  }
  return "";
}

}  // namespace

std::string other_annotations(const fs::path& folder) {
  std::vector<fs::path> folders{folder};
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const fs::path top = folders[i];
    std::vector<fs::path> files;
    std::error_code error, ignored;
    for (fs::directory_iterator it(top, error); !error && it != fs::directory_iterator(); it.increment(error)) {
      if (is_hidden(it->path()) || has_image_extension(it->path())) continue;
      const bool is_folder = it->is_directory(ignored);
      if (is_folder && i == 0) folders.push_back(it->path());
      if (!is_folder && has_extension(it->path(), {".json", ".xml", ".csv"})) files.push_back(it->path());
    }
    std::sort(files.begin(), files.end());
    files.resize(std::min(files.size(), kMostFiles));
    for (const fs::path& file : files) {
      const std::string_view format = format_of(file);
      if (format.empty()) continue;
      return "'" + file.string() + "' is " + std::string(format) +
             (format == "CVAT's XML" ? ", but the images that it names aren't there"
                                     : ", which isn't read: export the annotations as COCO, PASCAL VOC or YOLO");
    }
  }
  return "";
}

}  // namespace evener::data
