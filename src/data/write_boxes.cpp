#include "data/write_boxes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/utf8.h"
#include "data/box_text.h"
#include "data/each_index.h"
#include "data/new_folder.h"
#include "data/png_encode.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

constexpr BoxFormat kFormats[] = {BoxFormat::kVoc, BoxFormat::kCoco, BoxFormat::kYolo};

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

const char* box_format_name(BoxFormat format) {
  switch (format) {
    case BoxFormat::kVoc:
      return "voc";
    case BoxFormat::kCoco:
      return "coco";
    case BoxFormat::kYolo:
      return "yolo";
  }
  return "";
}

BoxFormat parse_box_format(const std::string& name) {
  std::vector<std::string> known;
  for (const BoxFormat format : kFormats) {
    known.emplace_back(box_format_name(format));
    if (name == known.back()) return format;
  }
  throw UsageError(unknown_name_message("format of boxes", name, known));
}

void write_box_folder(const Dataset& dataset, const Split& split, const fs::path& folder, BoxFormat format,
                      int threads) {
  NewFolder work(folder);
  switch (format) {
    case BoxFormat::kVoc:
      write_voc(dataset, split, work, threads);
      break;
    case BoxFormat::kCoco:
      write_coco(dataset, split, work, threads);
      break;
    case BoxFormat::kYolo:
      write_yolo(dataset, split, work, threads);
      break;
  }
  work.finish();
}

}  // namespace evener::data
