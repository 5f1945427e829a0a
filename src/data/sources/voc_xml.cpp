#include "data/sources/voc_xml.h"

#include <cmath>
#include <optional>
#include <pugixml.hpp>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace evener::data {

namespace {

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

}  // namespace evener::data
