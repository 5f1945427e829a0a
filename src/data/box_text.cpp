#include "data/box_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.h"

namespace evener::data {

namespace {

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

}  // namespace evener::data
