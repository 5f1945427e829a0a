#include "task/detect/annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace evener::task {
namespace {

/// Safe between tags; what XML 1.0 can't hold is left out.
std::string xml_text(std::string_view text) {
  std::string escaped;
  for (const char c : to_utf8_text(text)) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\t') {
      escaped += c;
    }
  }
  return escaped;
}

std::string json_text(std::string_view text) {
  return nlohmann::json(to_utf8_text(text)).dump();
}

const std::string& name_of(const Detection& box, const std::vector<std::string>& classes) {
  return classes.at(static_cast<std::size_t>(box.label));
}

}  // namespace

std::string voc_xml(const FoundBoxes& found, const std::vector<std::string>& classes) {
  const std::filesystem::path path(found.file);
  std::string xml = fmt::format(
      "<annotation>\n  <folder>{}</folder>\n  <filename>{}</filename>\n  <size>\n    <width>{}</width>\n"
      "    <height>{}</height>\n    <depth>3</depth>\n  </size>\n  <segmented>0</segmented>\n",
      xml_text(path.parent_path().filename().string()), xml_text(path.filename().string()), found.size.width,
      found.size.height);
  for (const Detection& box : found.boxes) {
    const auto first = [](float corner, std::int64_t extent) {
      return std::clamp<std::int64_t>(std::llround(corner) + 1, 1, extent);
    };
    const std::int64_t x1 = first(box.x1, found.size.width), y1 = first(box.y1, found.size.height);
    const std::int64_t x2 = std::clamp<std::int64_t>(std::llround(box.x2), x1, found.size.width);
    const std::int64_t y2 = std::clamp<std::int64_t>(std::llround(box.y2), y1, found.size.height);
    xml += fmt::format(
        "  <object>\n    <name>{}</name>\n    <pose>Unspecified</pose>\n    <truncated>0</truncated>\n"
        "    <difficult>0</difficult>\n    <score>{}</score>\n    <bndbox>\n      <xmin>{}</xmin>\n"
        "      <ymin>{}</ymin>\n      <xmax>{}</xmax>\n      <ymax>{}</ymax>\n    </bndbox>\n  </object>\n",
        xml_text(name_of(box, classes)), box.score, x1, y1, x2, y2);
  }
  return xml + "</annotation>\n";
}

std::string yolo_text(const FoundBoxes& found) {
  const auto width = static_cast<double>(found.size.width), height = static_cast<double>(found.size.height);
  std::string text;
  for (const Detection& box : found.boxes) {
    const double x1 = box.x1, y1 = box.y1, x2 = box.x2, y2 = box.y2;
    text += fmt::format("{} {:.8f} {:.8f} {:.8f} {:.8f}\n", box.label, (x1 + x2) / 2 / width, (y1 + y2) / 2 / height,
                        (x2 - x1) / width, (y2 - y1) / height);
  }
  return text;
}

std::string coco_json(std::span<const FoundBoxes> photos, const std::vector<std::string>& classes) {
  std::string images, annotations, categories;
  std::size_t image = 0, annotation = 0;
  for (const FoundBoxes& found : photos) {
    images += fmt::format("{}{{\"id\":{},\"file_name\":{},\"width\":{},\"height\":{}}}", image == 0 ? "" : ",\n",
                          image + 1, json_text(found.file), found.size.width, found.size.height);
    ++image;
    for (const Detection& box : found.boxes) {
      const double x1 = box.x1, y1 = box.y1, w = double{box.x2} - x1, h = double{box.y2} - y1;
      // A float's shortest text gives the same float back: rounding to decimals would move boxes over COCO's limits.
      annotations += fmt::format(
          "{}{{\"id\":{},\"image_id\":{},\"category_id\":{},\"bbox\":[{},{},{},{}],\"area\":{},\"iscrowd\":0,"
          "\"score\":{}}}",
          annotation == 0 ? "" : ",\n", annotation + 1, image, box.label + 1, box.x1, box.y1, w, h, w * h, box.score);
      ++annotation;
    }
  }
  for (std::size_t c = 0; c < classes.size(); ++c) {
    categories += fmt::format("{}{{\"id\":{},\"name\":{}}}", c == 0 ? "" : ",\n", c + 1, json_text(classes[c]));
  }
  return fmt::format("{{\"images\":[\n{}\n],\n\"annotations\":[\n{}\n],\n\"categories\":[\n{}\n]}}\n", images,
                     annotations, categories);
}

}  // namespace evener::task
