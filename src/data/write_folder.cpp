#include "data/write_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/utf8.h"
#include "data/codecs/decode.h"
#include "data/each_index.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Safe between tags.
std::string xml_text(const std::string& text) {
  std::string escaped;
  for (const char c : to_utf8_text(text)) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (!is_control(c) || c == '\t') {
      escaped += c;
    }
  }
  return escaped;
}

std::string json_text(const std::string& text) {
  return nlohmann::json(to_utf8_text(text)).dump();
}

const std::string& name_of(const LabelledBox& box, const std::vector<std::string>& classes) {
  return classes.at(static_cast<std::size_t>(box.label));
}

/// The pixels from `low` to `high`, counted from 1, within `extent`; two where there is room.
std::pair<std::int64_t, std::int64_t> pixels(float low, float high, std::int64_t extent) {
  const std::int64_t most = std::max<std::int64_t>(extent, 2);
  const std::int64_t first = std::clamp<std::int64_t>(std::llround(low) + 1, 1, most - 1);
  return {first, std::clamp<std::int64_t>(std::llround(high), first + 1, most)};
}

/// A folder of files that gets its final name only when it is complete: until finish() it has a temporary name
/// beside its final place; without finish() it is removed with its content.
class NewFolder {
 public:
  /// Throws Error if `target` exists and is not an empty folder, or nothing can be written beside it.
  explicit NewFolder(const fs::path& target) {
    std::error_code error;
    if (fs::exists(target, error) && !(fs::is_directory(target, error) && fs::is_empty(target, error))) {
      throw Error("'" + target.string() + "' exists and is not an empty folder; remove it or choose another name");
    }
    // The name without a trailing slash, so that the temporary folder stands beside it.
    target_ = target.has_filename() ? target : target.parent_path();
    const fs::path path = target_.string() + ".tmp-" + std::to_string(::getpid());
    require_writable_directory(path);
    path_ = path;
  }

  ~NewFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const fs::path& path() const { return path_; }
  /// Creates a folder inside, with its parents.
  void create(const fs::path& relative) const {
    std::error_code error;
    fs::create_directories(path_ / relative, error);
    if (error) throw Error("can't create '" + (path_ / relative).string() + "': " + error.message());
  }

  /// Writes a file inside. Thread-safe.
  void write(const fs::path& relative, const std::string& content) const {
    const fs::path path = path_ / relative;
    errno = 0;
    std::ofstream out(path, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) fail_to_write(path, errno);
  }

  /// Renames the folder to its final name.
  void finish() {
    std::error_code error;
    fs::rename(path_, target_, error);  // replaces an empty folder
    if (error) throw Error("can't rename '" + path_.string() + "' to '" + target_.string() + "': " + error.message());
    path_.clear();
  }

 private:
  fs::path target_, path_;
};

constexpr const char* kFormats[] = {"voc", "coco", "yolo"};

struct NamedPart {
  const char* name;
  const std::vector<std::uint32_t>* samples;
};
using Parts = std::vector<NamedPart>;

Parts parts_of(const Split& split) {
  return {{"train", &split.train}, {"val", &split.val}, {"test", &split.test}};
}

std::vector<LabelledBox> boxes_of(const Dataset& dataset, std::size_t sample) {
  SampleTargets targets = dataset.targets(sample);
  if (auto* boxes = std::get_if<std::vector<LabelledBox>>(&targets)) return std::move(*boxes);
  throw Error("'" + dataset.source(sample) + "' has a class, not boxes; only data with boxes can be written so");
}

std::string stem_of(std::uint32_t sample) {
  return fmt::format("{:06}", sample);
}

BoxedFile file_of(const Dataset& dataset, std::uint32_t sample) {
  const ImageShape shape = dataset.shape();
  return {stem_of(sample) + ".png", shape.width, shape.height, shape.channels, boxes_of(dataset, sample), {}};
}

/// Writes the images of a part into a folder, and with each what `also` does.
template <class Also>
void write_images(const Dataset& dataset, const std::vector<std::uint32_t>& samples, const fs::path& images,
                  const NewFolder& work, int threads, const Also& also) {
  work.create(images);
  for_each_index(samples.size(), threads, [&](std::size_t i) {
    std::vector<std::uint8_t> pixels(dataset.shape().bytes());
    dataset.read(samples[i], pixels);
    work.write(images / (stem_of(samples[i]) + ".png"), encode_png(dataset.shape(), pixels));
    also(samples[i]);
  });
}

void write_voc(const Dataset& dataset, const Split& split, const NewFolder& work, int threads) {
  const fs::path sets = fs::path("ImageSets") / "Main";
  work.create("Annotations");
  work.create(sets);
  std::string trainval;
  for (const auto& [name, samples] : parts_of(split)) {
    write_images(dataset, *samples, "JPEGImages", work, threads, [&](std::uint32_t sample) {
      work.write(fs::path("Annotations") / (stem_of(sample) + ".xml"),
                 voc_text(file_of(dataset, sample), dataset.classes()));
    });
    std::string lines;
    for (const std::uint32_t sample : *samples) lines += stem_of(sample) + "\n";
    work.write(sets / (std::string(name) + ".txt"), lines);
    if (samples != &split.test) trainval += lines;
  }
  work.write(sets / "trainval.txt", trainval);
}

void write_coco(const Dataset& dataset, const Split& split, const NewFolder& work, int threads) {
  work.create("annotations");
  for (const auto& [name, samples] : parts_of(split)) {
    if (samples->empty()) continue;
    write_images(dataset, *samples, fs::path("images") / name, work, threads, [](std::uint32_t) {});
    std::vector<BoxedFile> files;
    for (const std::uint32_t sample : *samples) files.push_back(file_of(dataset, sample));
    work.write(fs::path("annotations") / fmt::format("instances_{}.json", name), coco_text(files, dataset.classes()));
  }
}

void write_yolo(const Dataset& dataset, const Split& split, const NewFolder& work, int threads) {
  std::string set = "path: .\n";
  for (const auto& [name, samples] : parts_of(split)) {
    const fs::path labels = fs::path("labels") / name;
    work.create(labels);
    write_images(dataset, *samples, fs::path("images") / name, work, threads, [&](std::uint32_t sample) {
      work.write(labels / (stem_of(sample) + ".txt"), yolo_text(file_of(dataset, sample)));
    });
    set += fmt::format("{}: images/{}\n", name, name);
  }
  set += fmt::format("nc: {}\nnames:\n", dataset.classes().size());
  for (std::size_t c = 0; c < dataset.classes().size(); ++c) {
    // A text of JSON is one of YAML.
    set += fmt::format("  {}: {}\n", c, nlohmann::json(to_utf8_text(dataset.classes()[c])).dump());
  }
  work.write("data.yaml", set);
}

}  // namespace

std::string voc_text(const BoxedFile& image, const std::vector<std::string>& classes) {
  const std::filesystem::path path(image.file);
  std::string xml = fmt::format(
      "<annotation>\n  <folder>{}</folder>\n  <filename>{}</filename>\n  <size>\n    <width>{}</width>\n"
      "    <height>{}</height>\n    <depth>{}</depth>\n  </size>\n  <segmented>0</segmented>\n",
      xml_text(path.parent_path().filename().string()), xml_text(path.filename().string()), image.width, image.height,
      image.channels);
  for (std::size_t i = 0; i < image.boxes.size(); ++i) {
    const LabelledBox& box = image.boxes[i];
    const auto [xmin, xmax] = pixels(box.x1, box.x2, image.width);
    const auto [ymin, ymax] = pixels(box.y1, box.y2, image.height);
    const std::string score = image.scores.empty() ? "" : fmt::format("    <score>{}</score>\n", image.scores.at(i));
    xml += fmt::format(
        "  <object>\n    <name>{}</name>\n    <pose>Unspecified</pose>\n    <truncated>{:d}</truncated>\n"
        "    <difficult>{:d}</difficult>\n{}    <bndbox>\n      <xmin>{}</xmin>\n      <ymin>{}</ymin>\n"
        "      <xmax>{}</xmax>\n      <ymax>{}</ymax>\n    </bndbox>\n  </object>\n",
        xml_text(name_of(box, classes)), box.is_truncated, box.is_difficult, score, xmin, ymin, xmax, ymax);
  }
  return xml + "</annotation>\n";
}

std::string yolo_text(const BoxedFile& image) {
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  std::string text;
  for (const LabelledBox& box : image.boxes) {
    if (box.is_crowd) continue;
    const double x1 = box.x1 / width, x2 = box.x2 / width, y1 = box.y1 / height, y2 = box.y2 / height;
    text += fmt::format("{} {:.8f} {:.8f} {:.8f} {:.8f}\n", box.label, (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1);
  }
  return text;
}

std::string coco_text(std::span<const BoxedFile> images, const std::vector<std::string>& classes) {
  std::string files, annotations, categories;
  std::size_t image = 0, annotation = 0;
  for (const BoxedFile& one : images) {
    files += fmt::format("{}{{\"id\":{},\"file_name\":{},\"width\":{},\"height\":{}}}", image == 0 ? "" : ",\n",
                         image + 1, json_text(one.file), one.width, one.height);
    ++image;
    for (std::size_t i = 0; i < one.boxes.size(); ++i) {
      const LabelledBox& box = one.boxes[i];
      const double w = double{box.x2} - box.x1, h = double{box.y2} - box.y1;
      // A float's shortest text gives the same float back: rounding to decimals would move boxes over COCO's limits.
      annotations += fmt::format(
          "{}{{\"id\":{},\"image_id\":{},\"category_id\":{},\"bbox\":[{},{},{},{}],\"area\":{},\"iscrowd\":{:d}{}}}",
          annotation == 0 ? "" : ",\n", annotation + 1, image, box.label + 1, box.x1, box.y1, w, h, w * h, box.is_crowd,
          one.scores.empty() ? "" : fmt::format(",\"score\":{}", one.scores.at(i)));
      ++annotation;
    }
  }
  for (std::size_t c = 0; c < classes.size(); ++c) {
    categories += fmt::format("{}{{\"id\":{},\"name\":{}}}", c == 0 ? "" : ",\n", c + 1, json_text(classes[c]));
  }
  return fmt::format("{{\"images\":[\n{}\n],\n\"annotations\":[\n{}\n],\n\"categories\":[\n{}\n]}}\n", files,
                     annotations, categories);
}

void write_image_folder(const Dataset& dataset, const std::filesystem::path& folder, int threads) {
  NewFolder work(folder);
  for (const std::string& name : dataset.classes()) work.create(name);
  for_each_index(dataset.size(), threads, [&](std::size_t i) {
    std::vector<std::uint8_t> pixels(dataset.shape().bytes());
    dataset.read(i, pixels);
    const std::string& name = dataset.classes()[static_cast<std::size_t>(label_of(dataset, i))];
    work.write(std::filesystem::path(name) / fmt::format("{:06}.png", i), encode_png(dataset.shape(), pixels));
  });
  work.finish();
}

BoxFormat parse_box_format(const std::string& name) {
  return value_named<BoxFormat>(kFormats, "format of boxes", name);
}

void write_box_folder(const Dataset& dataset, const Split& split, const fs::path& folder, BoxFormat format,
                      int threads) {
  NewFolder work(folder);
  const auto write = format == BoxFormat::kVoc ? write_voc : format == BoxFormat::kCoco ? write_coco : write_yolo;
  write(dataset, split, work, threads);
  work.finish();
}

}  // namespace evener::data
