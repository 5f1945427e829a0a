#include "data/sources/cvat_xml.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <pugixml.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace evener::data {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double number_of(const pugi::xml_node& node, const char* attribute) {
  return to_number<double>(trimmed(node.attribute(attribute).value())).value_or(kNone);
}

std::int64_t extent_of(const pugi::xml_node& node, const char* attribute) {
  const double value = number_of(node, attribute);
  return value >= 1 && value <= 1e7 ? static_cast<std::int64_t>(value) : 0;
}

CvatBox box_of(const pugi::xml_node& node) {
  CvatBox box{"", number_of(node, "xtl"), number_of(node, "ytl"), number_of(node, "xbr"), number_of(node, "ybr")};
  if (!node.attribute("rotation")) return box;
  const double angle = number_of(node, "rotation") * std::numbers::pi / 180;
  const double width = box.x2 - box.x1, height = box.y2 - box.y1, x = (box.x1 + box.x2) / 2, y = (box.y1 + box.y2) / 2;
  const double half_width = std::abs(width * std::cos(angle)) / 2 + std::abs(height * std::sin(angle)) / 2;
  const double half_height = std::abs(width * std::sin(angle)) / 2 + std::abs(height * std::cos(angle)) / 2;
  return {"", x - half_width, y - half_height, x + half_width, y + half_height};
}

/// Around "1.5,2;3,4;...".
CvatBox around_points(std::string_view points) {
  CvatBox box{"", kNone, kNone, kNone, kNone};
  while (!points.empty()) {
    const std::string_view point = points.substr(0, points.find(';'));
    points.remove_prefix(std::min(point.size() + 1, points.size()));
    const std::size_t comma = std::min(point.find(','), point.size());
    const double x = to_number<double>(trimmed(point.substr(0, comma))).value_or(kNone);
    const double y = to_number<double>(trimmed(point.substr(std::min(comma + 1, point.size())))).value_or(kNone);
    if (std::isnan(x) || std::isnan(y)) return {"", kNone, kNone, kNone, kNone};
    box.x1 = std::fmin(box.x1, x), box.x2 = std::fmax(box.x2, x);
    box.y1 = std::fmin(box.y1, y), box.y2 = std::fmax(box.y2, y);
  }
  return box;
}

/// The box of a shape; nothing for what has none: tags, points, lines.
std::optional<CvatBox> box_of_shape(const pugi::xml_node& node) {
  const std::string_view kind = node.name();
  if (kind == "box") return box_of(node);
  if (kind == "polygon") return around_points(node.attribute("points").value());
  const double x = number_of(node, "left"), y = number_of(node, "top");
  if (kind == "mask") return CvatBox{"", x, y, x + number_of(node, "width"), y + number_of(node, "height")};
  return std::nullopt;
}

void read_shape(const pugi::xml_node& node, CvatImage& image) {
  const std::string kind = node.name(), label(trimmed(node.attribute("label").value()));
  if (label.empty()) return;  // no shape
  const auto leave_out = [&](const std::string& why) {
    image.problems.push_back("the " + printable(kind) + " of " + quoted_text(label) + " " + why);
  };
  std::optional<CvatBox> box = box_of_shape(node);
  if (!box) return leave_out("has no box around it");
  if (!std::isfinite(box->x1 + box->y1 + box->x2 + box->y2)) return leave_out("has a corner that is no number");
  box->label = label;
  image.boxes.push_back(std::move(*box));
}

}  // namespace

std::vector<CvatImage> parse_cvat(std::string_view file) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(file.data(), file.size());
  if (!parsed) {
    throw Error("it is no whole XML: " + std::string(parsed.description()) + " at byte " +
                std::to_string(parsed.offset));
  }
  const pugi::xml_node root = document.child("annotations");
  if (!root && document.child("annotation")) {
    throw Error("it is PASCAL VOC's XML of one image; name the folder with the XML of all");
  }
  if (!root) throw Error("it has no <annotations>");
  if (!root.child("image") && root.child("track")) {
    throw Error(
        "it is CVAT's XML of a video, whose images it doesn't name; export the set as \"CVAT for images\", as "
        "COCO, PASCAL VOC or YOLO");
  }
  std::vector<CvatImage> images;
  for (const pugi::xml_node& node : root.children("image")) {
    CvatImage& image = images.emplace_back();
    image.name = node.attribute("name").value();
    image.subset = node.attribute("subset").value();
    image.width = extent_of(node, "width"), image.height = extent_of(node, "height");
    for (const pugi::xml_node& shape : node.children()) read_shape(shape, image);
  }
  return images;
}

std::vector<std::string> cvat_images_in(std::string_view beginning) {
  pugi::xml_document document;
  document.load_buffer(beginning.data(), beginning.size());  // what stands before the cut is read
  std::vector<std::string> names;
  for (const pugi::xml_node& node : document.child("annotations").children("image")) {
    names.emplace_back(node.attribute("name").value());
  }
  return names;
}

}  // namespace evener::data
