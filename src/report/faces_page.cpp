#include "report/faces_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/base64.h"
#include "base/csv.h"
#include "report/faces_costs_part.h"
#include "report/format.h"
#include "report/page.h"

namespace evener::report {
namespace {

constexpr std::string_view kFacesStyle =
#include "report/page/faces.css.inc"
    ;

constexpr std::string_view kFacesScript =
#include "report/page/faces.js.inc"
    ;

// 'self' allows images of the same server; for a page opened as a file it allows nothing, hence file:.
constexpr std::string_view kFacesPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: 'self' file:";
constexpr double kLargestDistance = 2;  // between unit vectors
constexpr std::size_t kMostPairs = 24;

std::string name_of(const FacesPage& page, int group) {
  const auto found = page.names.find(group);
  return found == page.names.end() ? fmt::format("Person {}", group + 1) : found->second;
}

/// A face as a link to its photo.
std::string image(const FacesPage& page, std::size_t number) {
  const FaceOnPage& face = page.faces[number];
  const std::string words = fmt::format("{} ({:.1f} %)", face.file, 100 * face.probability);
  const std::string picture =
      fmt::format("<img src=\"data:image/jpeg;base64,{}\" title=\"{}\" alt=\"face on {}\">", to_base64(face.image),
                  escape_html(words), escape_html(std::filesystem::path(face.file).filename().string()));
  if (face.link.empty()) return picture;
  const std::string who = face.group < 0 ? "" : name_of(page, face.group) + ", ";
  return fmt::format("<a class=\"face\" href=\"{}\" data-box=\"{:.1f} {:.1f} {:.1f} {:.1f}\" data-words=\"{}\">{}</a>",
                     escape_html(face.link), face.box[0], face.box[1], face.box[2], face.box[3],
                     escape_html(who + words), picture);
}

std::string faces_of(const FacesPage& page, const std::vector<std::size_t>& members) {
  std::string html = "<div class=\"faces\">";
  for (const std::size_t face : members) html += image(page, face);
  return html + "</div>";
}

std::string number_part(std::size_t number, const char* one, const char* many) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>", number, number == 1 ? one : many);
}

using Members = std::vector<std::size_t>;

/// The persons with their faces, by falling number of faces.
std::vector<std::pair<int, Members>> persons_of(const FacesPage& page) {
  std::map<int, Members> groups;
  for (std::size_t i = 0; i < page.faces.size(); ++i) {
    if (page.faces[i].group >= 0) groups[page.faces[i].group].push_back(i);
  }
  std::vector<std::pair<int, Members>> persons(groups.begin(), groups.end());
  std::ranges::stable_sort(persons, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  // The face with the highest probability represents the person.
  for (auto& [number, members] : persons) {
    std::ranges::stable_sort(members, std::ranges::greater{},
                             [&](std::size_t i) { return std::pair(page.faces[i].clear, page.faces[i].probability); });
  }
  return persons;
}

/// The form for naming persons. A page can't write files, but it can offer a file for download; that one also keeps the
/// names of persons that aren't shown.
std::string naming_part(const FacesPage& page, const std::vector<std::pair<int, Members>>& persons) {
  std::string others;
  for (const auto& [group, name] : page.names) {
    const bool is_shown =
        std::ranges::any_of(persons, [group = group](const auto& person) { return person.first == group; });
    if (!is_shown) others += fmt::format("{},{}\n", group + 1, csv_cell(name));
  }
  return fmt::format(
      "<p class=\"soft\">Names: type them here or write them into <code>{}</code>, a line for each person as in "
      "<code>3,Anna</code>; the same command with <code>--resume</code> takes them over, without looking at any photo "
      "again. A face that isn't the person's is taken out by its line of <code>faces.csv</code> in a file "
      "<code>apart.csv</code> beside it.</p>\n<p id=\"names\" hidden><button type=\"button\" data-others=\"{}\">Save "
      "names.csv</button> <span "
      "class=\"soft\">as "
      "<code>{}</code>, in place of the one there.</span></p>\n",
      escape_html(page.names_file), escape_html(nlohmann::json(others).dump()), escape_html(page.names_file));
}

std::string persons_part(const FacesPage& page, const std::vector<std::pair<int, Members>>& persons) {
  std::string html = "<h2>Who is who</h2>\n";
  if (!page.tells_persons) {
    html += "<p>Can't be told: the embedder has random weights, so that these groups of faces are no persons.</p>\n";
  }
  if (persons.empty()) return html + "<p>No two faces are alike.</p>\n";
  if (!page.names_file.empty()) html += naming_part(page, persons);
  html += "<div class=\"groups\">\n";
  for (const auto& [number, members] : persons) {
    const std::string name = name_of(page, number);
    const std::string heading =
        page.names_file.empty()
            ? escape_html(name)
            : fmt::format(
                  "<input data-group=\"{}\" value=\"{}\" placeholder=\"Person {}\" aria-label=\"Name of person "
                  "{}\" autocomplete=\"off\" spellcheck=\"false\">",
                  number + 1, page.names.contains(number) ? escape_html(name) : "", number + 1, number + 1);
    html += fmt::format(
        "<section class=\"card person\"><div class=\"lead\">{}</div><div><h3>{}</h3>"
        "<p class=\"soft\">{}on {} photos</p>{}</div></section>\n",
        image(page, members.front()), heading,
        page.names.contains(number) ? fmt::format("Person {}, ", number + 1) : std::string(), members.size(),
        faces_of(page, Members(members.begin() + 1, members.end())));
  }
  return html + "</div>\n";
}

/// Faces without a group: the clear ones, or the others.
std::string others_part(const FacesPage& page, bool clear, const char* heading, const char* words) {
  Members members;
  for (std::size_t i = 0; i < page.faces.size(); ++i) {
    if (page.faces[i].group < 0 && page.faces[i].clear == clear) members.push_back(i);
  }
  if (members.empty()) return "";
  return fmt::format(
      "<h2>{} <span class=\"soft\">{}</span></h2>\n<section class=\"card{}\"><p class=\"soft\">{}</p>{}"
      "</section>\n",
      heading, members.size(), clear ? "" : " unclear", words, faces_of(page, members));
}

std::string pairs_part(const FacesPage& page) {
  std::string pairs;
  std::size_t shown = 0;
  std::set<std::size_t> seen;  // each face in one pair only, or one person on many photos would fill the list
  for (const PairOnPage& pair : page.pairs) {
    if (shown == kMostPairs) break;
    if (seen.contains(pair.first) || seen.contains(pair.second)) continue;
    seen.insert({pair.first, pair.second});
    ++shown;
    pairs += fmt::format("<div class=\"pair\">{}{}<b>{:.3f}</b></div>\n", image(page, pair.first),
                         image(page, pair.second), pair.distance);
  }
  if (pairs.empty()) return "";
  return "<h2>Most alike</h2>\n<section class=\"card\"><p class=\"soft\">Pairs of clear faces with the least distance; "
         "0 "
         "is the same picture.</p><div class=\"pairs\">\n" +
         pairs + "</div></section>\n";
}

std::string histogram_part(const FacesPage& page) {
  const std::size_t most = page.histogram.empty() ? 0 : *std::ranges::max_element(page.histogram);
  if (most == 0) return "";
  constexpr double kWidth = 1000, kHeight = 230, kBase = 190;
  const double step = kWidth / static_cast<double>(page.histogram.size());
  const auto x_of = [&](double distance) { return kWidth * distance / kLargestDistance; };
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Histogram of distances\">", kWidth, kHeight);
  for (std::size_t i = 0; i < page.histogram.size(); ++i) {
    if (page.histogram[i] == 0) continue;
    // A minimum height, so that a few pairs among very many can be seen.
    const double height = std::max(2.0, 170 * static_cast<double>(page.histogram[i]) / static_cast<double>(most));
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
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{:.1f}</text>", x_of(mark), kBase + 34, anchor,
                       mark);
  }
  return fmt::format(
      "<h2>How far faces are apart</h2>\n<section class=\"card\">{}</svg><p class=\"soft\">Pairs of faces by their "
      "Euclidean distance. Left of the line ({:.2f}) they may be of one person.</p></section>\n",
      svg, page.limit);
}

std::string judgement_part(const std::optional<JudgementOnPage>& judgement) {
  if (!judgement) return "";
  constexpr double kSide = 320, kLeft = 60, kTop = 10;
  const auto x_of = [](double different) { return kLeft + kSide * different; };
  const auto y_of = [](double same) { return kTop + kSide * (1 - same); };
  std::string svg = fmt::format("<svg class=\"roc\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"ROC curve\">",
                                kLeft + kSide + 30, kTop + kSide + 70);
  svg += fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>", x_of(0), x_of(1), y_of(0));
  svg += fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>", x_of(0), y_of(0), y_of(1));
  svg += fmt::format("<line class=\"chance\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>", x_of(0), y_of(0), x_of(1),
                     y_of(1));
  std::string points;
  for (const auto& [different, same] : judgement->curve) {
    points += fmt::format("{:.1f},{:.1f} ", x_of(different), y_of(same));
  }
  svg += fmt::format("<polyline class=\"curve\" points=\"{}\"/>", points);
  svg += fmt::format("<circle class=\"equal\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\"/>", x_of(judgement->equal_error_rate),
                     y_of(1 - judgement->equal_error_rate));
  for (const double mark : {0.0, 0.5, 1.0}) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.0f} %</text>", x_of(mark), y_of(0) + 28,
                       100 * mark);
    if (mark > 0) {
      svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f} %</text>", kLeft - 8, y_of(mark) + 8,
                         100 * mark);
    }
  }
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">of two persons, accepted</text>", x_of(0.5),
                     y_of(0) + 56);
  return fmt::format(
      "<h2>How well persons are told apart</h2>\n<section class=\"card\">{}</svg><p class=\"soft\">Upwards: pairs of "
      "one "
      "person that are accepted, at each limit. The dot is where as many are wrongly refused as wrongly accepted. "
      "{}</p></section>\n",
      svg, escape_html(judgement->words));
}

}  // namespace

std::string faces_html(const FacesPage& page) {
  std::string html = "<main>\n<h1>" + escape_html(page.title) + "</h1>\n";
  const std::vector<std::pair<int, Members>> persons = persons_of(page);
  html += "<div class=\"numbers\">" + number_part(page.photos, "photo", "photos") +
          number_part(page.all_faces, "face", "faces") +
          (page.tells_persons ? number_part(persons.size(), "person seen more than once", "persons seen more than once")
                              : "") +
          "</div>\n";
  for (const std::string& sentence : page.notes) html += "<p class=\"note\">" + escape_html(sentence) + "</p>\n";
  if (page.faces.size() < page.all_faces) {
    html += fmt::format("<p>The page shows {} of the faces; faces.csv has all.</p>\n", page.faces.size());
  }
  html += persons_part(page, persons) + others_part(page, true, "Seen once", "Clear faces that are like no other.") +
          pairs_part(page) + histogram_part(page) + judgement_part(page.judgement) +
          others_part(page, false, "Unclear", "Too small or too blurred to tell who it is, or no face at all.") +
          faces_costs_part(page);
  html += "<h2>About this page</h2>\n";
  for (const std::string& sentence : page.summary) html += "<p class=\"soft\">" + escape_html(sentence) + "</p>\n";
  html +=
      "<p class=\"soft\">Written by evener. The faces are inside this file; photos are shown from where they lie, "
      "so "
      "that whoever gets this file alone sees none.</p>\n</main>\n"
      "<dialog id=\"photo\"><form method=\"dialog\"><button aria-label=\"Close\">&#10005;</button></form>"
      "<div class=\"frame\"><img alt=\"\"><i></i></div><p></p></dialog>\n";
  return Page{.title = page.title + " - faces",
              .policy = kFacesPolicy,
              .styles = {kFacesStyle},
              .content = std::move(html),
              .scripts = {kFacesScript}}
      .html();
}

}  // namespace evener::report
