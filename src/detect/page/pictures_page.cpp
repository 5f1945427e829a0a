#include "detect/page/pictures_page.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/html.h"

namespace evener::detection {
namespace {

constexpr std::string_view kPicturesStyle =
#include "detect/page/pictures.css.inc"
    ;
constexpr std::string_view kPicturesScript =
#include "detect/page/pictures.js.inc"
    ;

double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

nlohmann::json numbers_of(const PicturesPage& page) {
  nlohmann::json classes = nlohmann::json::array(), pictures = nlohmann::json::array();
  for (const ClassOnPage& one : page.classes) classes.push_back({one.name, one.colour});
  for (const PictureOnPage& picture : page.pictures) {
    nlohmann::json boxes = nlohmann::json::array();
    for (const BoxOnPage& box : picture.boxes) {
      boxes.push_back(
          {box.label, rounded(box.score), rounded(box.x1), rounded(box.y1), rounded(box.x2), rounded(box.y2)});
    }
    pictures.push_back({{"file", picture.file},
                        {"picture", report::url_path(picture.picture)},
                        {"small", picture.small.starts_with("data:") ? picture.small : report::url_path(picture.small)},
                        {"size", {picture.width, picture.height}},
                        {"told", picture.told},
                        {"boxes", std::move(boxes)}});
  }
  return {{"least", rounded(page.least)},
          {"noun", page.noun},
          {"classes", std::move(classes)},
          {"pictures", std::move(pictures)}};
}

}  // namespace

std::string pictures_html(const PicturesPage& page) {
  std::string notes;
  for (const std::string& note : page.notes) notes += "<p>" + report::escape_html(note) + "</p>\n";
  return report::Page{
      .title = page.title,
      .policy = report::kPhotosPolicy,
      .styles = {kPicturesStyle},
      .content = "<header><h1>" + report::escape_html(page.title) +
                 "</h1>\n<form id=\"filter\">\n"
                 "<label>Show <select id=\"class\"></select></label>\n"
                 "<label>likelier than <input id=\"least\" type=\"range\" max=\"1\" step=\"0.01\"> <output "
                 "id=\"told\"></output></label>\n</form>\n<p id=\"count\" role=\"status\"></p></header>\n" +
                 (notes.empty() ? "" : "<section>" + notes + "</section>\n") +
                 "<main id=\"pictures\"></main>\n"
                 "<noscript><p>The pictures lie beside this page; it needs JavaScript to show them.</p></noscript>\n",
      .data = numbers_of(page).dump(),
      .scripts = {kPicturesScript}}
      .html();
}

}  // namespace evener::detection
