#include "report/faces_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>

#include "report/format.h"

namespace evener::report {
namespace {

constexpr std::string_view kStyle =
#include "report/page/faces.css.inc"
    ;

constexpr const char* kPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
constexpr double kLargestDistance = 2;  // of unit vectors

std::string image(const FaceOnPage& face) {
  return fmt::format("<img src=\"data:image/png;base64,{}\" title=\"{}\" alt=\"face on {}\">", base64(face.image),
                     escape_html(fmt::format("{} ({:.1f} %)", face.file, 100 * face.probability)),
                     escape_html(std::filesystem::path(face.file).filename().string()));
}

std::string faces_of(const FacesPage& page, const std::vector<std::size_t>& members) {
  std::string html = "<div class=\"faces\">";
  for (const std::size_t face : members) html += image(page.faces[face]);
  return html + "</div>";
}

std::string groups_part(const FacesPage& page) {
  std::map<int, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < page.faces.size(); ++i) groups[page.faces[i].group].push_back(i);
  const std::vector<std::size_t> alone = groups.contains(-1) ? groups[-1] : std::vector<std::size_t>();
  groups.erase(-1);
  std::vector<std::pair<int, std::vector<std::size_t>>> largest(groups.begin(), groups.end());
  std::ranges::stable_sort(largest, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::string html = "<h2>Who is who</h2>\n";
  html += largest.empty() ? "<p>No two faces are alike.</p>\n" : "<div class=\"groups\">\n";
  for (const auto& [number, members] : largest) {
    html += fmt::format(
        "<section class=\"card\"><h3><span>Person {}</span><span class=\"soft\">{} photos</span></h3>{}</section>\n",
        number + 1, members.size(), faces_of(page, members));
  }
  if (!largest.empty()) html += "</div>\n";
  if (!alone.empty()) {
    html += fmt::format("<h2>Seen once</h2>\n<section class=\"card\">{}</section>\n", faces_of(page, alone));
  }
  return html;
}

std::string pairs_part(const FacesPage& page) {
  if (page.pairs.empty()) return "";
  std::string html = "<h2>Most alike</h2>\n<section class=\"card\"><div class=\"pairs\">\n";
  for (const PairOnPage& pair : page.pairs) {
    html += fmt::format("<div class=\"pair\">{}{}<b>distance {:.3f}</b></div>\n", image(page.faces[pair.first]),
                        image(page.faces[pair.second]), pair.distance);
  }
  return html + "</div></section>\n";
}

std::string histogram_part(const FacesPage& page) {
  const std::size_t most = page.histogram.empty() ? 0 : *std::ranges::max_element(page.histogram);
  if (most == 0) return "";
  constexpr double kWidth = 1000, kHeight = 220, kBase = 190;
  const double step = kWidth / static_cast<double>(page.histogram.size());
  const auto x_of = [&](double distance) { return kWidth * distance / kLargestDistance; };
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Histogram of distances\">", kWidth, kHeight);
  for (std::size_t i = 0; i < page.histogram.size(); ++i) {
    const double height = 170 * static_cast<double>(page.histogram[i]) / static_cast<double>(most);
    const bool near =
        kLargestDistance * static_cast<double>(i + 1) / static_cast<double>(page.histogram.size()) <= page.limit;
    svg += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                       near ? "near" : "bar", static_cast<double>(i) * step, kBase - height, step * 0.9, height);
  }
  svg += fmt::format("<line class=\"axis\" x1=\"0\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", kWidth, kBase, kBase);
  svg += fmt::format("<line class=\"limit\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"10\" y2=\"{1}\"/>", x_of(page.limit),
                     kBase);
  for (const double mark : {0.0, 0.5, 1.0, 1.5, 2.0}) {
    const char* anchor = mark == 0 ? "start" : mark == kLargestDistance ? "end" : "middle";
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{:.1f}</text>", x_of(mark), kBase + 20, anchor,
                       mark);
  }
  return fmt::format(
      "<h2>How far faces are apart</h2>\n<section class=\"card\">{}</svg><p class=\"soft\">Pairs of faces by their "
      "Euclidean "
      "distance. Left of the line ({:.2f}) they may be of one person.</p></section>\n",
      svg, page.limit);
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) -> std::uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const std::uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (int digit = 0; digit < 4; ++digit) text += kDigits[three >> (18 - 6 * digit) & 63];
    for (std::size_t k = bytes.size() - i; k < 3; ++k) text[text.size() - (3 - k)] = '=';
  }
  return text;
}

std::string faces_html(const FacesPage& page) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{} - faces</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n",
      kPolicy, escape_html(page.title), kStyle, escape_html(page.title));
  for (const std::string& sentence : page.summary) html += "<p>" + escape_html(sentence) + "</p>\n";
  html += groups_part(page) + pairs_part(page) + histogram_part(page);
  return html +
         "<p class=\"soft\">Written by evener; everything is inside this one file.</p>\n</main>\n</body>\n</html>\n";
}

}  // namespace evener::report
