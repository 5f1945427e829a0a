#include "data/write_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/utf8.h"
#include "data/box_text.h"
#include "data/each_index.h"
#include "data/png_encode.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

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

constexpr Named<BoxFormat> kFormats[] = {
    {BoxFormat::kVoc, "voc"}, {BoxFormat::kCoco, "coco"}, {BoxFormat::kYolo, "yolo"}};

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

const char* box_format_name(BoxFormat format) {
  return name_in(kFormats, format);
}

BoxFormat parse_box_format(const std::string& name) {
  return value_named(kFormats, "format of boxes", name);
}

void write_box_folder(const Dataset& dataset, const Split& split, const fs::path& folder, BoxFormat format,
                      int threads) {
  NewFolder work(folder);
  const auto write = format == BoxFormat::kVoc ? write_voc : format == BoxFormat::kCoco ? write_coco : write_yolo;
  write(dataset, split, work, threads);
  work.finish();
}

}  // namespace evener::data
