#include "data/write_boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/utf8.h"
#include "data/codecs/png_encode.h"
#include "data/each_index.h"
#include "data/new_folder.h"

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

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else {
      safe += c;
    }
  }
  return safe;
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
                 voc_text(stem_of(sample) + ".png", dataset.shape(), boxes_of(dataset, sample), dataset.classes()));
    });
    std::string lines;
    for (const std::uint32_t sample : *samples) lines += stem_of(sample) + "\n";
    work.write(sets / (std::string(name) + ".txt"), lines);
    if (samples != &split.test) trainval += lines;
  }
  work.write(sets / "trainval.txt", trainval);
}

nlohmann::ordered_json coco_box(const LabelledBox& box, std::size_t id, std::size_t image) {
  const double width = static_cast<double>(box.x2) - box.x1, height = static_cast<double>(box.y2) - box.y1;
  return {{"id", id},
          {"image_id", image},
          {"category_id", box.label + 1},
          {"bbox", {box.x1, box.y1, width, height}},
          {"area", width * height},
          {"iscrowd", box.is_crowd ? 1 : 0}};
}

std::string coco_text(const Dataset& dataset, const std::vector<std::uint32_t>& samples) {
  using Json = nlohmann::ordered_json;
  Json images = Json::array(), annotations = Json::array(), categories = Json::array();
  for (const std::uint32_t sample : samples) {
    const std::size_t id = images.size() + 1;
    images.push_back({{"id", id},
                      {"file_name", stem_of(sample) + ".png"},
                      {"width", dataset.shape().width},
                      {"height", dataset.shape().height}});
    for (const LabelledBox& box : boxes_of(dataset, sample)) {
      annotations.push_back(coco_box(box, annotations.size() + 1, id));
    }
  }
  for (std::size_t c = 0; c < dataset.classes().size(); ++c) {
    categories.push_back({{"id", c + 1}, {"name", to_utf8_text(dataset.classes()[c])}});
  }
  return Json{{"images", images}, {"annotations", annotations}, {"categories", categories}}.dump() + "\n";
}

void write_coco(const Dataset& dataset, const Split& split, const NewFolder& work, int threads) {
  work.create("annotations");
  for (const auto& [name, samples] : parts_of(split)) {
    if (samples->empty()) continue;
    write_images(dataset, *samples, fs::path("images") / name, work, threads, [](std::uint32_t) {});
    work.write(fs::path("annotations") / fmt::format("instances_{}.json", name), coco_text(dataset, *samples));
  }
}

void write_yolo(const Dataset& dataset, const Split& split, const NewFolder& work, int threads) {
  std::string set = "path: .\n";
  for (const auto& [name, samples] : parts_of(split)) {
    const fs::path labels = fs::path("labels") / name;
    work.create(labels);
    write_images(dataset, *samples, fs::path("images") / name, work, threads, [&](std::uint32_t sample) {
      work.write(labels / (stem_of(sample) + ".txt"), yolo_text(dataset.shape(), boxes_of(dataset, sample)));
    });
    set += fmt::format("{}: images/{}\n", name, name);
  }
  set += fmt::format("nc: {}\nnames:\n", dataset.classes().size());
  for (std::size_t c = 0; c < dataset.classes().size(); ++c) {
    const std::string& name = dataset.classes()[c];
    const char quote = name.find('\'') == std::string::npos ? '\'' : '"';
    set += fmt::format("  {}: {}{}{}\n", c, quote, name, quote);
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

std::string voc_text(const std::string& file_name, const ImageShape& shape, std::span<const LabelledBox> boxes,
                     const std::vector<std::string>& classes) {
  std::string text = fmt::format(
      "<annotation>\n\t<filename>{}</filename>\n\t<size>\n\t\t<width>{}</width>\n\t\t<height>{}</height>\n"
      "\t\t<depth>{}</depth>\n\t</size>\n",
      escaped(file_name), shape.width, shape.height, shape.channels);
  // The pixels from `low` to `high`, counted from 1; within `extent`, and two where there is room: others take a box
  // whose corners are equal for one without area.
  const auto pixels = [](float low, float high, std::int64_t extent) {
    const std::int64_t most = std::max<std::int64_t>(extent, 2);
    const std::int64_t first = std::clamp<std::int64_t>(std::llround(low) + 1, 1, most - 1);
    return std::pair(first, std::clamp<std::int64_t>(std::llround(high), first + 1, most));
  };
  for (const LabelledBox& box : boxes) {
    const auto [xmin, xmax] = pixels(box.x1, box.x2, shape.width);
    const auto [ymin, ymax] = pixels(box.y1, box.y2, shape.height);
    text += fmt::format(
        "\t<object>\n\t\t<name>{}</name>\n\t\t<truncated>{:d}</truncated>\n\t\t<difficult>{:d}</difficult>\n"
        "\t\t<bndbox>\n\t\t\t<xmin>{}</xmin>\n\t\t\t<ymin>{}</ymin>\n\t\t\t<xmax>{}</xmax>\n\t\t\t<ymax>{}</ymax>\n"
        "\t\t</bndbox>\n\t</object>\n",
        escaped(classes.at(static_cast<std::size_t>(box.label))), box.is_truncated, box.is_difficult, xmin, ymin, xmax,
        ymax);
  }
  return text + "</annotation>\n";
}

std::string yolo_text(const ImageShape& shape, std::span<const LabelledBox> boxes) {
  const auto width = static_cast<double>(shape.width), height = static_cast<double>(shape.height);
  std::string text;
  for (const LabelledBox& box : boxes) {
    if (box.is_crowd) continue;
    const double x1 = box.x1 / width, x2 = box.x2 / width, y1 = box.y1 / height, y2 = box.y2 / height;
    text += fmt::format("{} {:.7g} {:.7g} {:.7g} {:.7g}\n", box.label, (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1);
  }
  return text;
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
